/** Whether a host is this machine, for which plain http is safe. */
export const isLoopbackHost = (hostname: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);

/**
 * Parses the address of a gate, and removes a trailing slash.
 * @throws TypeError if it is invalid, or sending tokens there would be unsafe
 */
export function readAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new TypeError('the address of the gate must be an http or https URL, such as https://gate.example');
  if (url.username !== '' || url.password !== '') throw new TypeError('the address of the gate must not contain user information');
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname))
    throw new TypeError('the address of the gate must begin with https://; tokens may be sent over http only to this machine');
  return (url.origin + url.pathname).replace(/\/+$/, '');
}
