import { isLoopbackHost } from './address.ts';

/** A proxy that the environment names. */
interface Proxy {
  /** for messages, without user information */
  name: string;
  /** as the global one, which uses no proxy in Node; follows no redirects */
  fetch(address: string, init: RequestInit): Promise<Response>;
}

// biome-ignore lint/suspicious/noExplicitAny: browsers have no types for Node
type Untyped = any;

const { process: node, ReadableStream: streams } = globalThis as { process?: Untyped; ReadableStream: Untyped };

/**
 * The proxy for an address, from `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`; lower case takes precedence, as in curl. A host in `NO_PROXY` stands for its
 * subdomains too. This machine is never reached through a proxy.
 * @returns undefined also in browsers, and in Node before 22.21 and 24.5, which cannot use proxies
 */
export function findProxy(address: string, env: Record<string, string | undefined> = node?.env ?? {}): Proxy | undefined {
  if (!node?.allowedNodeEnvironmentFlags?.has('--use-env-proxy')) return undefined;
  const { protocol, hostname, port } = new URL(address);
  const variable = (protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY']).find((name) => env[name]);
  if (variable === undefined || isLoopbackHost(hostname)) return undefined;
  if (isExcluded(hostname, port || (protocol === 'https:' ? '443' : '80'), env.no_proxy || env.NO_PROXY || '')) return undefined;
  const url = readProxy(env[variable] ?? '');
  if (url)
    return {
      name: `the proxy ${url.host} (${variable})`,
      fetch: openFetch(node.getBuiltinModule(`node:${protocol.slice(0, -1)}`), url.href),
    };
  const name = `the proxy in ${variable}, which must be an address such as http://proxy.example:3128, with / ? # in a password as %2F %3F %23`;
  return { name, fetch: () => Promise.reject(Object.assign(new TypeError('unsupported proxy'), { code: 'ERR_PROXY' })) };
}

/**
 * Reads the address of a proxy, which may have no scheme, as in curl.
 * @returns undefined if it is none, or if its host is not certain, because / ? # or \ in a password ends what is read as the host
 */
export function readProxy(text: string): URL | undefined {
  if (!/^\s*(https?:\/\/)?[^/?#\\]*([/?#\\][^@]*)?$/i.test(text)) return undefined;
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** For messages: empty unless the address is reached through a proxy. */
export function throughProxy(address: string): string {
  const proxy = findProxy(address);
  return proxy === undefined ? '' : ` through ${proxy.name}`;
}

const isExcluded = (hostname: string, port: string, list: string): boolean =>
  list.split(/[\s,]+/).some((entry) => {
    // an IPv6 address may have no brackets, unless a port follows
    const [, named = '', only = port] = /^(?:\*?\.)?(\[.*\]|[^:]*|.*)(?::(\d+))?$/.exec(entry) ?? [];
    const host = URL.parse(`http://${/^[^[]*:/.test(named) ? `[${named}]` : named}`)?.hostname;
    return host !== undefined && only === port && (host === '*' || `.${hostname}`.endsWith(`.${host}`));
  });

function openFetch({ request, Agent }: Untyped, proxy: string): Proxy['fetch'] {
  const agent = new Agent({ keepAlive: true, proxyEnv: { http_proxy: proxy, https_proxy: proxy } });
  return (address, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      request(address, { agent, method, headers, ...(signal && { signal }) }, (message: Untyped) => {
        const { statusCode: status, headersDistinct } = message;
        const isEmpty = [204, 205, 304].includes(status);
        if (isEmpty) message.resume();
        const fields = Object.entries<string[]>(headersDistinct).flatMap(([name, values]) =>
          values.map((value): [string, string] => [name, value]),
        );
        resolve(new Response(isEmpty ? null : streams.from(message), { status, headers: fields }));
      })
        .on('error', reject)
        .end(body);
    });
}
