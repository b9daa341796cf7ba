/**
 * Redirects requests of `fetch`: addresses that begin with the first one in FETCH_REDIRECT are called at the second. A preload for functions
 * that ask an issuer of tokens for its keys: its name has to be the real one, but a stand-in has its keys. Plain JavaScript, because
 * an environment that strips types first starts later and takes more memory.
 */
const [from, to] = (process.env.FETCH_REDIRECT ?? '').split(' ');
const { fetch } = globalThis;

if (to) globalThis.fetch = (address, options) => fetch(String(address).replace(from, to), options);
