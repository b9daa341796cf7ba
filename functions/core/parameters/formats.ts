import { isIPv4, isIPv6 } from 'node:net';
import type { Parameter } from '../../../schemas/parameter.ts';

export type Format = NonNullable<Parameter['format']>;

interface FormatRule {
  holds: (text: string) => boolean;
  /** ends the sentence "must be ..." */
  description: string;
}

/** RFC 3339 full-date that exists in the calendar. */
function isDate(text: string): boolean {
  const timeMs = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(timeMs) && new Date(timeMs).toISOString().startsWith(text);
}

/** RFC 3339 date-time. A leap second is allowed only at the end of a UTC day (section 5.7). */
function isDateTime(text: string): boolean {
  const [, date = '', hour, minute, second, , sign, offsetHour = 0, offsetMinute = 0] =
    /^(.{10})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d+)?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/.exec(text) ?? [];
  if (!isDate(date) || Number(hour) > 23 || Number(minute) > 59 || Number(offsetHour) > 23 || Number(offsetMinute) > 59) return false;
  if (Number(second) <= 59) return true;
  const offsetMinutes = (sign === '-' ? -1 : 1) * (Number(offsetHour) * 60 + Number(offsetMinute));
  const minuteOfDay = Number(hour) * 60 + Number(minute) - offsetMinutes;
  return second === '60' && (minuteOfDay + 2 * 1440) % 1440 === 1439;
}

/** Host name without a trailing dot (RFC 1123 section 2.1, RFC 1035 section 2.3.4). */
const isHostname = (text: string): boolean =>
  text.length <= 253 && /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(text);

/** E-mail address without quoted local part or address literal (RFC 5321 section 4.1.2). */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  return (
    at > 0 && local.length <= 64 && /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*$/.test(local) && isHostname(text.slice(at + 1))
  );
}

/** RFC 3986 appendix B: splits any text into parts, whose characters section 3 restricts. */
const uriParts = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;
const pathCharacters = /^(?:[\w\-.~!$&'()*+,;=:@/]|%[0-9a-f]{2})*$/i;
const queryCharacters = /^(?:[\w\-.~!$&'()*+,;=:@/?]|%[0-9a-f]{2})*$/i;
const authorityParts = /^(?:(?:[\w\-.~!$&'()*+,;=:]|%[0-9a-f]{2})*@)?(?:\[([^\]]*)\]|(?:[\w\-.~!$&'()*+,;=]|%[0-9a-f]{2})*)(?::\d*)?$/i;

function isUriReference(text: string): boolean {
  const [, scheme, authority, path = '', query = '', fragment = ''] = uriParts.exec(text) ?? [];
  if (scheme !== undefined && !/^[a-z][a-z0-9+.-]*$/i.test(scheme)) return false;
  if (!pathCharacters.test(path) || !queryCharacters.test(query) || !queryCharacters.test(fragment)) return false;
  if (authority === undefined) return !path.startsWith('//') && (scheme !== undefined || !path.split('/')[0]?.includes(':'));
  const [matched, literal] = authorityParts.exec(authority) ?? [];
  return (
    matched !== undefined && (literal === undefined || isIPv6WithoutZone(literal) || /^v[0-9a-f]+\.[\w\-.~!$&'()*+,;=:]+$/i.test(literal))
  );
}

const isUri = (text: string): boolean => /^[a-z][a-z0-9+.-]*:/i.test(text) && isUriReference(text);

const isIPv6WithoutZone = (text: string): boolean => isIPv6(text) && !text.includes('%');

/** The formats of specification section 2.1, each as defined by the RFC that JSON Schema refers to. */
export const formats: Record<Format, FormatRule> = {
  date: { holds: isDate, description: 'a date such as 2026-02-28' },
  'date-time': { holds: isDateTime, description: 'a date and time with an offset such as 2026-02-28T12:00:00Z' },
  email: { holds: isEmail, description: 'an e-mail address' },
  hostname: { holds: isHostname, description: 'a host name' },
  ipv4: { holds: isIPv4, description: 'an IPv4 address in dotted decimals' },
  ipv6: { holds: isIPv6WithoutZone, description: 'an IPv6 address' },
  uri: { holds: isUri, description: 'an absolute URI' },
  'uri-reference': { holds: isUriReference, description: 'a URI or a relative reference' },
  uuid: { holds: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text), description: 'a UUID' },
};
