/** This machine, to which plain http is safe. */
export const isLoopbackHost = (hostname: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);

/**
 * The address of a gate without a trailing slash.
 * @throws TypeError if tokens must not be sent there
 */
export function readAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TypeError('the address of the gate must be an http or https URL');
  if (url.username !== '' || url.password !== '') throw new TypeError('the address of the gate must not contain user information');
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname))
    throw new TypeError('the address of the gate must begin with https://: only to this machine may tokens be sent over http');
  return (url.origin + url.pathname).replace(/\/+$/, '');
}
