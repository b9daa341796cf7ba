import { escapeHtml } from './policy-page.ts';

/** The place in the console for what it has to know about the deployment. */
export const deploymentPlace = '<!-- deployment -->';

/** What the console has to know about the deployment. */
export interface Deployment {
  /** the gate's address for itself, which policies and proofs name */
  publicUrl: string;
  /** where admins sign in; none if they cannot here */
  signIn?: {
    /** of the user pool's sign-in pages, for example `https://<prefix>.auth.<region>.amazoncognito.com` */
    domain: string;
    clientId: string;
  };
  /** people can sign in for programs, at a second address of the MCP server */
  offersSignIn?: true;
  /** hosts on the developer's own network that intents may call; in a local stack only */
  localUpstreams?: readonly string[];
}

/** The console, with what it has to know in an attribute. */
export const fillConsole = (page: string, deployment: Deployment): string =>
  page.replace(deploymentPlace, () => escapeHtml(JSON.stringify(deployment)));
