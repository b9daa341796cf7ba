import manifest from '../package.json' with { type: 'json' };

/** The version of the product, from package.json only. Functions get it in an environment variable. */
export const version: string = manifest.version;
