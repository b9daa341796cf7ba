import manifest from '../package.json' with { type: 'json' };

/** The version of the product, which stands in package.json and nowhere else. Functions get it as a variable of their environment. */
export const version: string = manifest.version;
