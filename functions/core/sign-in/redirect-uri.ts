/** A redirect URI on the machine of the person: without its port, the port, and the rest. */
const onLoopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(:\d{1,5})?(|\/[^#]*)$/;

/** Addresses that no two readers can take for different ones: visible ASCII, without fragment and user information. */
const isPlain = (uri: string): boolean => {
  const url = URL.parse(uri);
  return (
    url !== null &&
    /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(uri) &&
    !uri.includes('#') &&
    url.username === '' &&
    !/^https?:\/\/[^/?]*@/i.test(uri)
  );
};

/** Whether a client may be answered there at all: over https, or on the machine of the person. */
export const isRedirectUri = (uri: string): boolean =>
  isPlain(uri) && (/^https:\/\/[^/?]/.test(uri) || /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d{1,5})?(\/|\?|$)/.test(uri));

/** Whether it is answered on the machine of the person, where any program may listen. */
export const isLoopback = (uri: string): boolean => uri.startsWith('http:');

/**
 * Compares character by character, but for the port on the person's machine, which a client finds out when it starts (RFC 8252 sections 7.3 and 8.10,
 * RFC 9700 section 2.1). Under the name localhost any port will do only if none is registered, as native clients publish it.
 */
export function matchesRedirectUri(registered: string, asked: string): boolean {
  if (!isRedirectUri(asked)) return false;
  if (registered === asked) return true;
  const [, host, port, rest] = onLoopback.exec(registered) ?? [];
  const [, askedHost, , askedRest] = onLoopback.exec(asked) ?? [];
  const isPortOpen = host !== undefined && (port === undefined || !host.endsWith('localhost'));
  return isPortOpen && host === askedHost && rest === askedRest;
}
