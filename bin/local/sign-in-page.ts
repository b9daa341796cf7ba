import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import * as z from 'zod';
import { escapeHtml, page } from '../../functions/core/http/page.ts';
import { headerLines, isCalledHere, originHost } from './guard.ts';
import { close, listen, readBody, targetOf } from './http.ts';
import { ServiceError } from './json-service.ts';
import type { UserPool } from './user-pool.ts';

const codeLifeMs = 5 * 60 * 1_000;
const maxBodyBytes = 16 * 1024;

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
    if (!isCalledHere(request)) return asText(421, 'This stack does not serve that host.');
    const { pathname, searchParams } = targetOf(request);
    const route = `${request.method} ${pathname}`;
    const origins = headerLines(request, 'origin');
    if (route === 'GET /oauth2/authorize' && origins.length === 0) {
      const wanted = readRequest(searchParams);
      return wanted ? form(wanted) : asText(400, 'No client of this user pool started this sign-in. Start again from the application.');
    }
    if (route !== 'POST /oauth2/authorize' && route !== 'POST /oauth2/token')
      return asText(origins.length === 0 ? 404 : 403, 'Page not found.');
    const fields = new URLSearchParams((await readBody(request, maxBodyBytes))?.toString());
    if (route === 'POST /oauth2/authorize') {
      const wanted = readRequest(fields);
      const isOwn = origins.every((origin) => originHost(origin) === request.headers.host);
      if (!wanted || !isOwn) return asText(403, 'This form was not sent by the sign-in page of this user pool. Start again.');
      return signIn(wanted, fields.get('username') ?? '', fields.get('password') ?? '');
    }
    const readers = clientOrigins(fields.get('client_id') ?? '');
    if (!origins.every((origin) => readers.includes(origin))) return asText(403, 'Pages from other origins get no tokens.');
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

/** The sign-in form, which may redirect only to the client. */
function form(request: Authorization, complaint?: string): Answer {
  const hidden = Object.entries(request).map(([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`);
  const content = `<p>This is the user pool of the local stack. The output of npm start contains the user names and passwords.</p>
${complaint === undefined ? '' : `<p role="alert">${escapeHtml(complaint)}</p>`}
<form method="post" action="/oauth2/authorize">
${hidden.join('\n')}
<label>User name <input name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button type="submit">Sign in</button>
</form>`;
  const { status, headers, text } = page('Sign in', content, { formTarget: new URL(request.redirect_uri).origin });
  return { status, headers: headers ?? {}, body: text ?? '' };
}
