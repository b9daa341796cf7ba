import { fromEnv } from '@aws-sdk/credential-provider-env';

/**
 * Replaces `@aws-sdk/credential-provider-node`, which searches many places, in bundles. In Lambda the credentials are in the environment and never
 * change, so they are read once.
 */
export function defaultProvider(...init: Parameters<typeof fromEnv>): ReturnType<typeof fromEnv> {
  let credentials: ReturnType<ReturnType<typeof fromEnv>> | undefined;
  return () => {
    credentials ??= fromEnv(...init)();
    return credentials;
  };
}
