/**
 * Preloaded into functions that fetch an issuer's keys: the issuer's name must be real, but a stand-in has the keys. FETCH_REDIRECT contains a URL
 * prefix and its replacement, which `fetch` then uses. Plain JavaScript, because stripping types takes time and memory in every environment.
 */
const [from, to] = (process.env.FETCH_REDIRECT ?? '').split(' ');
const { fetch } = globalThis;

if (to) globalThis.fetch = (address, options) => fetch(String(address).replace(from, to), options);
