/** Stands in, in bundles, for `@aws-sdk/credential-provider-node`, which looks for credentials everywhere: in Lambda they are in the environment. */
export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';
