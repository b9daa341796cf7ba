import { createHash, randomBytes } from 'node:crypto';
import { startUpstream } from '../upstream.ts';

/** What a browser got. */
export interface Page {
  status: number;
  headers: Headers;
  text: string;
  /** where it was led by a redirect, or by the page itself */
  next: string | undefined;
}

interface Cookie {
  value: string;
  path: string;
}

/** A browser without scripts: it keeps cookies by host and port, sends them to their paths, and follows nothing by itself. */
export function openBrowser() {
  const jars = new Map<string, Map<string, Cookie>>();

  async function request(url: string, form?: URLSearchParams): Promise<Page> {
    const { host, pathname } = new URL(url);
    const jar = jars.get(host) ?? new Map<string, Cookie>();
    jars.set(host, jar);
    const sent = [...jar].filter(([, { path }]) => pathname.startsWith(path));
    const cookie = sent.map(([name, { value }]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      method: form ? 'POST' : 'GET',
      headers: { ...(cookie !== '' && { Cookie: cookie }) },
      ...(form && { body: form }),
      redirect: 'manual',
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = '', path = '/'] = /^([^=]+)=([^;]*)(?:.*; Path=([^;]+))?/.exec(line) ?? [];
      if (/; Max-Age=0(;|$)/.test(line)) jar.delete(name);
      else jar.set(name, { value, path });
    }
    const { status, headers } = response;
    const [, refresh] = /^0;url=(.*)$/.exec(headers.get('refresh') ?? '') ?? [];
    return { status, headers, text: await response.text(), next: headers.get('location') ?? refresh };
  }

  return {
    request,
    cookiesOf: (url: string) => new Map([...(jars.get(new URL(url).host) ?? [])].map(([name, { value }]) => [name, value])),
  };
}

export type TestBrowser = ReturnType<typeof openBrowser>;

const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };

const fromHtml = (text: string): string => text.replace(/&([a-z]+|#39);/g, (_, name: string) => entities[name] ?? '');

/** The hidden fields of a page's form. */
export const readForm = ({ text }: Page): URLSearchParams =>
  new URLSearchParams(
    [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']): [string, string] => [
      name,
      fromHtml(value),
    ]),
  );

interface Stack {
  base_url: string;
  user_password: string;
}

/** Opens an authorization request, signs in as the ordinary user if that is asked for, and returns the page that comes of it. */
export async function openAuthorization(browser: TestBrowser, { user_password }: Stack, address: string): Promise<Page> {
  const first = await browser.request(address);
  if (!first.next?.includes('/oauth2/authorize?')) return first;
  const pool = await browser.request(first.next);
  const form = readForm(pool);
  form.set('username', 'user');
  form.set('password', user_password);
  const signedIn = await browser.request(new URL('/oauth2/authorize', first.next).href, form);
  const back = await browser.request(signedIn.next ?? '');
  return browser.request(back.next ?? '');
}

/** Answers the form of a consent page. */
export async function decide(browser: TestBrowser, { base_url }: Stack, page: Page, decision = 'accept'): Promise<Page> {
  const form = readForm(page);
  form.set('decision', decision);
  return browser.request(`${base_url}/oauth/accept`, form);
}

/** A PKCE pair. */
export function makeVerifier(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** A host that publishes descriptions of clients: what it answers at each path. */
export async function startClientHost() {
  const answers = new Map<string, { status?: number; headers?: Record<string, string>; body: string }>();
  const host = await startUpstream(({ url }, response) => {
    const { status = 200, headers = {}, body } = answers.get(url) ?? { status: 404, body: '{}' };
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body);
  });
  const origin = `http://127.0.0.1:${host.port}`;
  let count = 0;
  return {
    ...host,
    origin,
    answers,
    /** Publishes a client; returns its id. */
    publish: (redirectUris: string[], more: object = {}, at: { status?: number; headers?: Record<string, string> } = {}): string => {
      const path = `/client-${++count}.json`;
      const clientId = `${origin}${path}`;
      answers.set(path, {
        ...at,
        body: JSON.stringify({ client_id: clientId, client_name: 'Test host', redirect_uris: redirectUris, ...more }),
      });
      return clientId;
    },
  };
}
