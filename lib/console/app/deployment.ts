import type { Deployment } from '../../../functions/core/documents/console-page.ts';

/** What the page has been told about the deployment. */
export const deployment: Deployment = JSON.parse(document.documentElement.dataset.deployment ?? '{}');
