/** What a connection is opened to. */
export interface Target {
  protocol: string;
  /** without the brackets of an IPv6 literal */
  hostname: string;
  port: number;
}

export const targetOf = ({ protocol, hostname, port }: URL): Target => ({
  protocol,
  hostname: hostname.replace(/^\[|\]$/g, ''),
  port: Number(port || (protocol === 'https:' ? 443 : 80)),
});
