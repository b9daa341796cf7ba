import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { compactVerify, generateKeyPair, importSPKI, jwtVerify, SignJWT } from 'jose';
import { compileParameters } from '../../../functions/core/parameters/compile.ts';
import { type IntentInput, intentInput, toIntentDetails, toSavedIntent } from '../../../schemas/intent.ts';
import { intentUidPattern, splitIntentUid } from '../../../schemas/intent-uid.ts';
import { type Service, serviceInput } from '../../../schemas/service.ts';
import { bodyOf, type Fault, found, pageOf, Refused, type SmallAnswer, type SmallRequest, valid } from './small-http.ts';

const adminToken = 'the-admin';
const prohibited = 'small.example:forbidden:v1';
const limit = { rate: 7, period: 60 };

type Params = Record<string, string>;
type Handler = (request: SmallRequest, params: Params) => SmallAnswer | Promise<SmallAnswer>;

/** A small gate that keeps to the specification, all in memory, and is broken only as `fault` says. */
export async function startSmallServer(fault: Fault = {}) {
  const services = new Map<string, Service>();
  const intents = new Map<string, { intent: IntentInput; serviceId: string }>();
  const used = new Map<string, number>();
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  let ids = 0;
  let base = '';

  const policy = () => ({
    '@context': 'http://www.w3.org/ns/odrl.jsonld',
    uid: `${base}/api/policy`,
    type: 'Set',
    permission: [{ target: `${base}/api/intents`, action: 'execute' }],
    prohibition: [{ target: `${base}/api/intents/${prohibited}`, action: 'execute' }],
  });

  const requireAdmin = ({ bearer }: SmallRequest) => {
    if (bearer !== adminToken) throw new Refused(401, 'UNAUTHORIZED');
  };
  const show = ({ intent, serviceId }: { intent: IntentInput; serviceId: string }) =>
    toIntentDetails(intent, services.get(serviceId)?.service_name ?? '');
  const savedService = ({ service_id, service_name, service_url, description }: Service) => ({
    service_id,
    service_name,
    service_url,
    description,
  });
  const saveService = (id: string, body: Record<string, unknown>): Service => {
    const service = { service_id: id, ...valid(serviceInput.safeParse(body)) };
    services.set(id, service);
    return service;
  };

  const search: Handler = (request) => {
    const has = (text: string, words: string | null) =>
      words === null || words.split(/\s+/).every((word) => text.toLowerCase().includes(word.toLowerCase()));
    const filter = (name: string) => request.query.get(name);
    const rows = [...intents.values()]
      .map(show)
      .filter(
        (row) =>
          [null, row.intent_uid].includes(filter('uid')) &&
          [null, splitIntentUid(row.intent_uid).namespace].includes(filter('namespace')) &&
          has(row.service_name, filter('service_name')) &&
          has(row.intent_name, filter('intent_name')) &&
          has(row.description, filter('description')) &&
          has(`${row.intent_name} ${row.description}`, filter('query')) &&
          (filter('tags') ?? '').split(',').every((tag) => tag === '' || row.tags.includes(tag)),
      );
    return pageOf(request, rows);
  };

  const execute: Handler = async (request) => {
    const { payload } = await jwtVerify(request.bearer ?? '', publicKey).catch(() => {
      throw new Refused(401, 'UNAUTHORIZED');
    });
    const { intent_uid: uid, parameters } = bodyOf(request);
    if (typeof uid !== 'string' || !intentUidPattern.test(uid) || typeof parameters !== 'object')
      throw new Refused(400, 'INVALID_PARAMETER');
    if (uid === prohibited) throw new Refused(403, 'FORBIDDEN');
    const { namespace, slug } = splitIntentUid(uid);
    const hasOther = [...intents.keys()].some((known) => known.startsWith(`${namespace}:${slug}:`));
    if (hasOther && !intents.has(uid)) throw new Refused(409, 'VERSION_CONFLICT');
    const { intent } = found(intents.get(uid));
    const { values } = compileParameters(intent.input_parameters)(parameters as Record<string, unknown>);
    if (!values) throw new Refused(400, 'INVALID_PARAMETER');
    const calls = (used.get(String(payload.sub)) ?? 0) + 1;
    if (calls > limit.rate) throw new Refused(429, 'TOO_MANY_REQUESTS');
    used.set(String(payload.sub), calls);
    const upstream = await fetch(intent.endpoint.url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(values),
    });
    return { status: 200, body: await upstream.json() };
  };

  const issue: Handler = async (request) => {
    const { agent_id: agent, signed_policy: signed, agent_public_key: pem } = bodyOf(request);
    if (typeof agent !== 'string' || typeof signed !== 'string' || typeof pem !== 'string') throw new Refused(400, 'INVALID_PARAMETER');
    const { payload } = await compactVerify(signed, await importSPKI(pem, 'ES256')).catch(() => {
      throw new Refused(400, 'INVALID_SIGNATURE');
    });
    if (Buffer.from(payload).toString() !== JSON.stringify(policy())) throw new Refused(403, 'POLICY_REJECTED');
    const pat = await new SignJWT({ scope: ['*:*:*:execute'], pol: `${base}/api/policy`, lmt: limit })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(base)
      .setSubject(agent)
      .setJti(String(++ids))
      .setNotBefore('0s')
      .setExpirationTime('1h')
      .sign(privateKey);
    return { status: 200, body: { 'proto-pat': pat, expires_at: new Date(Date.now() + 3_600_000).toISOString() } };
  };

  const createService: Handler = (request) => {
    requireAdmin(request);
    const { service_name } = valid(serviceInput.safeParse(bodyOf(request)));
    if ([...services.values()].some((other) => other.service_name === service_name)) throw new Refused(409, 'CONFLICT');
    return { status: 201, body: savedService(saveService(`s${++ids}`, bodyOf(request))) };
  };
  const updateService: Handler = (request, { id = '' }) => {
    requireAdmin(request);
    found(services.get(id));
    return { status: 200, body: savedService(saveService(id, bodyOf(request))) };
  };
  const deleteService: Handler = (request, { id = '' }) => {
    requireAdmin(request);
    found(services.get(id));
    services.delete(id);
    for (const [uid, { serviceId }] of intents) if (serviceId === id) intents.delete(uid);
    return { status: 204 };
  };
  const createIntent: Handler = (request, { id = '' }) => {
    requireAdmin(request);
    found(services.get(id));
    const intent = valid(intentInput.safeParse(bodyOf(request)));
    if (!URL.canParse(intent.endpoint.url)) throw new Refused(400, 'INVALID_PARAMETER');
    if (intents.has(intent.intent_uid)) throw new Refused(409, 'CONFLICT');
    intents.set(intent.intent_uid, { intent, serviceId: id });
    return { status: 201, body: toSavedIntent(intent) };
  };
  const updateIntent: Handler = (request, { id = '' }) => {
    requireAdmin(request);
    const { serviceId } = found(intents.get(id));
    const intent = valid(intentInput.safeParse(bodyOf(request)));
    intents.set(id, { intent, serviceId });
    return { status: 200, body: toSavedIntent(intent) };
  };
  const deleteIntent: Handler = (request, { id = '' }) => {
    requireAdmin(request);
    found(intents.get(id));
    intents.delete(id);
    return { status: 204 };
  };
  const listIntents: Handler = (request, { id = '' }) => {
    found(services.get(id));
    const rows = [...intents.values()].filter(({ serviceId }) => serviceId === id);
    return pageOf(
      request,
      rows.map(({ intent }) => ({ ...toSavedIntent(intent), tags: intent.tags ?? [] })),
    );
  };
  const readIntent: Handler = (_, { id = '' }) => {
    if (!intentUidPattern.test(id)) throw new Refused(400, 'INVALID_PARAMETER');
    return { status: 200, body: show(found(intents.get(id))) };
  };

  const routes: [path: RegExp, methods: Record<string, Handler>][] = [
    [/^\/api\/intents\/search$/, { GET: search }],
    [/^\/api\/intents\/execute$/, { POST: execute }],
    [/^\/api\/intents\/(?<id>[^/]+)$/, { GET: readIntent, PUT: updateIntent, DELETE: deleteIntent }],
    [/^\/api\/policy$/, { GET: () => ({ status: 200, body: policy() }) }],
    [/^\/api\/pat\/issue$/, { POST: issue }],
    [/^\/api\/services$/, { POST: createService }],
    [
      /^\/api\/services\/(?<id>[^/]+)$/,
      { GET: (_, { id = '' }) => ({ status: 200, body: found(services.get(id)) }), PUT: updateService, DELETE: deleteService },
    ],
    [/^\/api\/services\/(?<id>[^/]+)\/intents$/, { GET: listIntents, POST: createIntent }],
  ];

  async function answer(request: SmallRequest): Promise<SmallAnswer> {
    try {
      const route = routes.find(([path]) => path.test(request.path));
      if (!route) throw new Refused(404, 'NOT_FOUND');
      const [path, methods] = route;
      const handler = methods[request.method];
      if (!handler) throw new Refused(405, 'METHOD_NOT_ALLOWED');
      return await handler(request, { ...path.exec(request.path)?.groups });
    } catch (error) {
      const { status, code, message } = error instanceof Refused ? error : new Refused(500, 'INTERNAL_SERVER_ERROR');
      return { status, body: { error: { code, message } } };
    }
  }

  async function read(incoming: IncomingMessage): Promise<SmallRequest> {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://small');
    return {
      method: incoming.method ?? 'GET',
      path: decodeURIComponent(pathname),
      query: searchParams,
      bearer: /^Bearer (.*)$/.exec(incoming.headers.authorization ?? '')?.[1],
      mediaType: incoming.headers['content-type'] ?? '',
      text: Buffer.concat(await Array.fromAsync(incoming)).toString(),
    };
  }

  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const request = await read(incoming);
      const given = await answer(fault.before?.(request) ?? request);
      const { status, body, headers } = fault.after?.(request, given) ?? given;
      outgoing.writeHead(status, { 'Content-Type': 'application/json', ...headers });
      outgoing.end(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  saveService('s0', { service_name: 'Small facts', service_url: 'https://small.example', description: 'Always there.' });
  for (const slug of ['first', 'second', 'third']) {
    const intent = intentInput.parse({
      intent_uid: `small.example:${slug}:v1`,
      intent_name: `The ${slug} intent`,
      description: `What is ${slug}.`,
      input_parameters: [],
      output_parameters: [],
      endpoint: 'https://small.example/',
      tags: ['small'],
    });
    intents.set(intent.intent_uid, { intent, serviceId: 's0' });
  }
  return {
    url: base,
    adminToken,
    /** how many records there are besides those that were there from the start */
    countLeft: () => services.size - 1 + intents.size - 3,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
