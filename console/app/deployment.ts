import type { Deployment } from '../../functions/core/documents/pages.ts';

const { dataset } = document.documentElement;

export const deployment: Deployment = JSON.parse(dataset.deployment ?? '{}');

/** Prefix of the references of errors. */
export const protocol = dataset.protocol ?? '';
