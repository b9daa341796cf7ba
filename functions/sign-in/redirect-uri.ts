/** An http URL on loopback: scheme and host, port, and the rest. */
const onLoopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(:\d{1,5})?((?:[/?].*)?)$/i;

/** Visible ASCII without quotation mark, fragment, backslash and user information, which parsers read differently. */
const isUnambiguous = (uri: string): boolean =>
  URL.canParse(uri) && /^[\x21\x24-\x5b\x5d-\x7e]+$/.test(uri) && !/^https?:\/\/[^/?]*@/i.test(uri);

/** https, or http on loopback. */
export const isRedirectUri = (uri: string): boolean => isUnambiguous(uri) && (/^https:\/\/[^/?]/.test(uri) || onLoopback.test(uri));

/** Whether any program on the machine may listen at a redirect URI. */
export const isLoopback = (uri: string): boolean => /^http:/i.test(uri);

/**
 * Compares character by character, except for the port on loopback, which native clients choose at start (RFC 8252 sections 7.3 and 8.10,
 * RFC 9700 section 2.1). For `localhost`, the port is ignored only if none is registered.
 */
export function matchesRedirectUri(registered: string, requested: string): boolean {
  if (!isRedirectUri(requested)) return false;
  if (registered === requested) return true;
  const [, host, port, rest] = onLoopback.exec(registered) ?? [];
  const [, requestedHost, , requestedRest] = onLoopback.exec(requested) ?? [];
  const isPortIgnored = host !== undefined && (port === undefined || !/localhost$/i.test(host));
  return isPortIgnored && host === requestedHost && rest === requestedRest;
}
