import type { Deployment } from '../../functions/core/http/page.ts';

const { dataset } = document.documentElement;

export const deployment: Deployment = JSON.parse(dataset.deployment ?? '{}');

/** Name of the protocol, the prefix of error references. */
export const protocol = dataset.protocol ?? '';
