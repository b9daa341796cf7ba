import { createHash, randomBytes } from 'node:crypto';
import { type SeenRequest, startUpstream } from '../upstream.ts';

interface Answered {
  status?: number;
  headers?: Record<string, string>;
  body: unknown;
}

/** How an issuer behaves; tests change it while it runs. */
export interface Behaviour {
  /** path of the issuer's identifier, such as `/realms/a` */
  path: string;
  /** whether metadata is found, and under which of the two rules */
  discovery: 'oauth2' | 'oidc' | 'none';
  /** further members of the metadata */
  metadata: Record<string, unknown>;
  lifeSeconds: unknown;
  /** whether each refresh token is replaced by the next, and refused afterwards */
  rotates: boolean;
  refreshes: boolean;
  authentication: 'basic' | 'post' | 'any';
  /** answers a token request in its own way, before or after the issuer has acted */
  before?: ((form: URLSearchParams) => Answered | Promise<Answered | undefined> | undefined) | undefined;
  after?: ((tokens: Record<string, unknown>) => Answered | Promise<Answered>) | undefined;
}

const clientSecret = 'canary-secret-of-the-client';

/** An authorization server with one client, `gate`, for whom every person agrees. Its tokens begin with `canary`. */
export async function startIssuer(changes: Partial<Behaviour> = {}) {
  const behaviour: Behaviour = {
    path: '',
    discovery: 'oauth2',
    metadata: {},
    lifeSeconds: 3_600,
    rotates: true,
    refreshes: true,
    authentication: 'any',
    ...changes,
  };
  const codes = new Map<string, { challenge: string | null; redirectUri: string | null; subject: string }>();
  const refreshTokens = new Map<string, string>();
  const valid = new Map<string, string>();
  const revoked: string[] = [];
  const grants: string[] = [];
  const newToken = (kind: string) => `canary-${kind}-${randomBytes(24).toString('base64url')}`;

  const metadata = () => ({
    issuer: origin + behaviour.path,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    revocation_endpoint: `${origin}/revoke`,
    authorization_response_iss_parameter_supported: true,
    ...behaviour.metadata,
  });

  function isAuthenticated({ headers }: SeenRequest, form: URLSearchParams): boolean {
    const isBasic = headers.authorization === `Basic ${Buffer.from(`gate:${clientSecret.replaceAll('-', '%2D')}`).toString('base64')}`;
    const isPost = form.get('client_secret') === clientSecret && form.get('client_id') === 'gate';
    return { basic: isBasic, post: isPost, any: isBasic || isPost }[behaviour.authentication];
  }

  const refuse = (error: string, error_description: string, status = 400): Answered => ({ status, body: { error, error_description } });

  function issue(subject: string, withRefresh: boolean): Record<string, unknown> {
    const access = newToken('access');
    valid.set(access, subject);
    const refresh = newToken('refresh');
    if (withRefresh) refreshTokens.set(refresh, subject);
    return {
      access_token: access,
      token_type: 'Bearer',
      ...(behaviour.lifeSeconds !== undefined && { expires_in: behaviour.lifeSeconds }),
      ...(withRefresh && { refresh_token: refresh }),
    };
  }

  async function tokenAnswer(request: SeenRequest): Promise<Answered> {
    const form = new URLSearchParams(request.body);
    const kind = String(form.get('grant_type'));
    grants.push(kind);
    const early = await behaviour.before?.(form);
    if (early) return early;
    if (!isAuthenticated(request, form)) return refuse('invalid_client', 'Client authentication failed', 401);
    if (kind === 'client_credentials') return { body: issue('gate', false) };
    if (kind === 'refresh_token') {
      const token = String(form.get('refresh_token'));
      const subject = refreshTokens.get(token);
      if (subject === undefined) return refuse('invalid_grant', `The refresh token ${token} is not known`);
      if (behaviour.rotates) refreshTokens.delete(token);
      return { body: issue(subject, behaviour.rotates) };
    }
    const code = codes.get(String(form.get('code')));
    codes.delete(String(form.get('code')));
    const challenge = createHash('sha256')
      .update(String(form.get('code_verifier')))
      .digest('base64url');
    if (!code || code.challenge !== challenge || code.redirectUri !== form.get('redirect_uri'))
      return refuse('invalid_grant', 'The code is not valid');
    return { body: issue(code.subject, behaviour.refreshes) };
  }

  const answers: Record<string, (request: SeenRequest) => Answered | Promise<Answered>> = {
    '/token': async (request) => {
      const answer = await tokenAnswer(request);
      const body = answer.body as Record<string, unknown>;
      return behaviour.after && body.access_token !== undefined ? behaviour.after(body) : answer;
    },
    '/revoke': (request) => {
      const form = new URLSearchParams(request.body);
      if (!isAuthenticated(request, form)) return refuse('invalid_client', 'Client authentication failed', 401);
      const token = String(form.get('token'));
      revoked.push(token);
      refreshTokens.delete(token);
      return { body: {} };
    },
    '/authorize': ({ url }) => {
      const asked = new URL(url, origin).searchParams;
      const code = `canary-code-${randomBytes(12).toString('base64url')}`;
      codes.set(code, {
        challenge: asked.get('code_challenge'),
        redirectUri: asked.get('redirect_uri'),
        subject: String(subjects.shift() ?? 'someone'),
      });
      const back = new URLSearchParams({ code, state: String(asked.get('state')), iss: origin + behaviour.path });
      return { status: 302, headers: { location: `${asked.get('redirect_uri')}?${back}` }, body: {} };
    },
  };

  /** who agrees next at the issuer */
  const subjects: string[] = [];
  const server = await startUpstream((request, response) => {
    const { pathname } = new URL(request.url, 'http://issuer');
    const path = behaviour.path;
    const wellKnown = {
      oauth2: `/.well-known/oauth-authorization-server${path}`,
      oidc: `${path}/.well-known/openid-configuration`,
      none: '',
    };
    const answer: ((request: SeenRequest) => Answered | Promise<Answered>) | undefined =
      pathname === wellKnown[behaviour.discovery] ? () => ({ body: metadata() }) : answers[pathname];
    const missing: Answered = { status: 404, headers: { 'content-type': 'text/html' }, body: '<h1>Not found</h1>' };
    void Promise.resolve(answer?.(request) ?? missing).then(({ status = 200, headers = {}, body }) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
    });
  });
  const origin = `http://127.0.0.1:${server.port}`;

  return {
    ...server,
    origin,
    behaviour,
    subjects,
    clientSecret,
    /** grant types of the token requests so far */
    grants,
    revoked,
    /** the person, or `gate`, whom a service takes the holder of a token for */
    holderOf: (authorization: string | undefined) => valid.get(String(authorization).replace(/^Bearer /, '')),
    /** makes a service refuse the access tokens issued so far */
    expireAccessTokens: () => valid.clear(),
    forgetRefreshTokens: () => refreshTokens.clear(),
    get issuer() {
      return origin + behaviour.path;
    },
    stop: server.stop,
  };
}

export type Issuer = Awaited<ReturnType<typeof startIssuer>>;
