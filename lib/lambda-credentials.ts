import { fromEnv } from '@aws-sdk/credential-provider-env';

/**
 * Stands in, in bundles, for `@aws-sdk/credential-provider-node`, which searches many places: in Lambda the credentials are in the environment. They
 * stay the same as long as it exists, so they are read once.
 */
export function defaultProvider(...init: Parameters<typeof fromEnv>): ReturnType<typeof fromEnv> {
  let credentials: ReturnType<ReturnType<typeof fromEnv>> | undefined;
  return () => {
    credentials ??= fromEnv(...init)();
    return credentials;
  };
}
