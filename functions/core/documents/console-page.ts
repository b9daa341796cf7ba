import { escapeHtml } from './policy-page.ts';

/** The place in the console for what it has to know about the deployment. */
export const deploymentPlace = '<!-- deployment -->';

/** What the console has to know about the deployment. */
export interface Deployment {
  /** the gate's address for itself, which policies and proofs name */
  publicUrl: string;
}

/** The console, with what it has to know in an attribute. */
export const fillConsole = (page: string, deployment: Deployment): string =>
  page.replace(deploymentPlace, () => escapeHtml(JSON.stringify(deployment)));
