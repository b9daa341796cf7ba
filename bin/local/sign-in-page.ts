import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import * as z from 'zod';
import { escapeHtml } from '../../functions/core/documents/pages.ts';
import { headerLines, isCalledHere, originHost } from './guard.ts';
import { close, listen, readBody, targetOf } from './http.ts';
import { ServiceError } from './json-service.ts';
import type { UserPool } from './user-pool.ts';

const codeLifeMs = 5 * 60 * 1_000;
const maxBodyBytes = 16 * 1024;

const style = `
:root { color-scheme: light dark; --ink: #1d2733; --paper: #f4f6f8; --card: #fff; --line: #76828e; --accent: #1458a8; --bad: #a3161f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ee; --paper: #15181a; --card: #1f2427; --line: #8593a0; --accent: #8ab8f0; --bad: #ff9d96; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { width: min(24rem, 100% - 2rem); padding: 1.5rem; background: var(--card); border-radius: 0.75rem; overflow-wrap: anywhere; }
h1 { margin: 0 0 0.5rem; font-size: 1.4rem; }
label { display: block; margin-top: 1rem; font-weight: 600; }
input { width: 100%; margin-top: 0.25rem; padding: 0.6rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: 0.375rem; }
button { width: 100%; margin-top: 1.5rem; padding: 0.7rem; font: inherit; font-weight: 600; color: var(--card); background: var(--accent); border: 0; border-radius: 0.375rem; cursor: pointer; }
[role="alert"] { color: var(--bad); font-weight: 600; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;

const styleSource = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;

/** An authorization request (RFC 6749 section 4.1.1) with PKCE (RFC 7636). */
const authorization = z.object({
  response_type: z.literal('code'),
  client_id: z.string(),
  redirect_uri: z.string(),
  code_challenge: z.string().regex(/^[\w-]{43}$/),
  code_challenge_method: z.literal('S256'),
  scope: z.string().max(200).default('openid'),
  state: z.string().max(2_000).default(''),
});

type Authorization = z.output<typeof authorization>;

const grant = z.discriminatedUnion('grant_type', [
  z.object({
    grant_type: z.literal('authorization_code'),
    client_id: z.string(),
    redirect_uri: z.string(),
    code: z.string(),
    code_verifier: z.string(),
  }),
  z.object({ grant_type: z.literal('refresh_token'), client_id: z.string(), refresh_token: z.string() }),
]);

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/**
 * Serves a user pool's browser endpoints on a loopback port: the sign-in page, `/oauth2/authorize`, and the code exchange, `/oauth2/token`, which only
 * pages of the clients' origins may read (CORS).
 * @param callbacks - redirect URIs by client id
 */
export async function startSignIn(pool: UserPool, callbacks: Record<string, readonly string[]>) {
  /** unexpired codes */
  const codes = new Map<string, Authorization & { username: string; expiresMs: number }>();
  const clientOrigins = (id: string) => (Object.hasOwn(callbacks, id) ? (callbacks[id] ?? []) : []).map((url) => new URL(url).origin);

  const readRequest = (fields: URLSearchParams): Authorization | undefined => {
    const { data } = authorization.safeParse(Object.fromEntries(fields));
    return data && Object.hasOwn(callbacks, data.client_id) && callbacks[data.client_id]?.includes(data.redirect_uri) ? data : undefined;
  };

  const signIn = (request: Authorization, username: string, password: string): Answer => {
    try {
      pool.checkPassword(username, password);
    } catch (error) {
      if (error instanceof ServiceError) return form(request, error.message);
      throw error;
    }
    const code = randomBytes(24).toString('base64url');
    codes.set(code, { ...request, username, expiresMs: Date.now() + codeLifeMs });
    const address = new URL(request.redirect_uri);
    address.searchParams.set('code', code);
    if (request.state !== '') address.searchParams.set('state', request.state);
    return { status: 302, headers: { Location: address.href, 'Referrer-Policy': 'no-referrer' }, body: '' };
  };

  const exchange = (fields: URLSearchParams): Answer => {
    const { data } = grant.safeParse(Object.fromEntries(fields));
    if (!data) return asJson(400, { error: 'invalid_request' });
    if (data.grant_type === 'refresh_token') return asJson(200, pool.refresh(data.refresh_token, data.client_id));
    const found = codes.get(data.code);
    codes.delete(data.code);
    const challenge = createHash('sha256').update(data.code_verifier).digest('base64url');
    const isGood =
      found !== undefined &&
      found.expiresMs > Date.now() &&
      found.client_id === data.client_id &&
      found.redirect_uri === data.redirect_uri &&
      found.code_challenge === challenge;
    return isGood ? asJson(200, pool.issue(found.username, found.client_id, found.scope)) : asJson(400, { error: 'invalid_grant' });
  };

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    if (!isCalledHere(request)) return asText(421, 'Nothing is served at this host.');
    const { pathname, searchParams } = targetOf(request);
    const route = `${request.method} ${pathname}`;
    const origins = headerLines(request, 'origin');
    if (route === 'GET /oauth2/authorize' && origins.length === 0) {
      const wanted = readRequest(searchParams);
      return wanted ? form(wanted) : asText(400, 'No client of this user pool started this sign-in. Start again from the application.');
    }
    if (route !== 'POST /oauth2/authorize' && route !== 'POST /oauth2/token')
      return asText(origins.length === 0 ? 404 : 403, 'There is no page here.');
    const fields = new URLSearchParams((await readBody(request, maxBodyBytes))?.toString());
    if (route === 'POST /oauth2/authorize') {
      const wanted = readRequest(fields);
      const isOwn = origins.every((origin) => originHost(origin) === request.headers.host);
      if (!wanted || !isOwn) return asText(403, 'This form was not sent by the page of this user pool. Begin again.');
      return signIn(wanted, fields.get('username') ?? '', fields.get('password') ?? '');
    }
    const readers = clientOrigins(fields.get('client_id') ?? '');
    if (!origins.every((origin) => readers.includes(origin))) return asText(403, 'Pages of other origins get no tokens here.');
    const { headers, ...exchanged } = refusing(() => exchange(fields));
    const [origin] = origins;
    return { ...exchanged, headers: { ...headers, ...(origin && { 'Access-Control-Allow-Origin': origin, Vary: 'Origin' }) } };
  };

  const server = createServer(async (request, response) => {
    try {
      const { status, headers, body } = await answer(request);
      response.writeHead(status, { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff', ...headers }).end(body);
    } catch (error) {
      if (!request.errored) console.error(error);
      request.socket.destroy();
    }
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, stop: () => close(server) };
}

const asText = (status: number, body: string): Answer => ({ status, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body });

const asJson = (status: number, body: object): Answer => ({
  status,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

/** Converts refusals of the pool to OAuth errors. */
function refusing(work: () => Answer): Answer {
  try {
    return work();
  } catch (error) {
    if (error instanceof ServiceError) return asJson(400, { error: 'invalid_grant' });
    throw error;
  }
}

/** The sign-in form. Its policy allows redirects only to the client. */
function form(request: Authorization, complaint?: string): Answer {
  const hidden = Object.entries(request).map(([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`);
  const security = [
    "default-src 'none'",
    `style-src ${styleSource}`,
    'img-src data:',
    "base-uri 'none'",
    // browsers also apply form-action to redirects of the response
    `form-action 'self' ${new URL(request.redirect_uri).origin}`,
    "frame-ancestors 'none'",
  ];
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in - local user pool</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>Sign in</h1>
<p>This is the user pool of a gate on this machine. What npm start printed has the names and passwords.</p>
${complaint === undefined ? '' : `<p role="alert">${escapeHtml(complaint)}</p>`}
<form method="post" action="/oauth2/authorize">
${hidden.join('\n')}
<label for="username">User name</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button type="submit">Sign in</button>
</form>
</main>
</body>
</html>
`;
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': security.join('; '),
    // with no-referrer, browsers would submit the form with "Origin: null"
    'Referrer-Policy': 'same-origin',
  };
  return { status: 200, headers, body };
}
