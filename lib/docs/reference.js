/* global SwaggerUIBundle */
const base = new URL('.', location.href);
const at = (path) => new URL(path, base);

async function read(path) {
  const response = await fetch(at(path));
  if (!response.ok) throw new Error(`${path} was answered ${response.status}`);
  return response;
}

function followColorScheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', apply);
  apply();
}

/** The page has a heading of its own, calls the service that it came from, and has places of its own that addresses lead to. */
const partOfPage = () => ({
  wrapComponents: { InfoContainer: () => () => null, ServersContainer: () => () => null },
  statePlugins: {
    layout: { wrapActions: { parseDeepLinkHash: (follow) => (hash) => (hash.startsWith('#/') ? follow(hash) : undefined) } },
  },
});

/** Shows the operations, and leads to the one that the address names. */
function showOperations(description) {
  return new Promise((resolve) => {
    const ui = SwaggerUIBundle({
      spec: { ...description, servers: [{ url: base.href.replace(/\/$/, '') }] },
      dom_id: '#reference',
      deepLinking: true,
      docExpansion: 'list',
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      tryItOutEnabled: true,
      validatorUrl: null,
      plugins: [partOfPage],
      onComplete: () => resolve(ui),
    });
  });
}

/** Links such as #/Discovery/search-intents lead to the operation, as they do when the page is loaded with one. */
function openFromLinks() {
  addEventListener('hashchange', () => {
    if (!location.hash.startsWith('#/')) return;
    const operation = document.getElementById(`operations-${location.hash.slice(2).replace('/', '-')}`);
    if (operation && !operation.classList.contains('is-open')) operation.querySelector('.opblock-summary-control').click();
    operation?.scrollIntoView();
  });
}

const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');

const encode = (text) => new TextEncoder().encode(text);

/** A detached JWS over the policy, good for this address, once, and for five minutes. */
async function signPolicy(policy, key, audience) {
  const now = Math.floor(Date.now() / 1000);
  const header = { alg: 'ES256', iat: now, exp: now + 300, aud: audience, jti: crypto.randomUUID() };
  const head = base64url(encode(JSON.stringify(header)));
  const signed = encode(`${head}.${base64url(policy)}`);
  return `${head}..${base64url(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, signed))}`;
}

/** Gets a PAT for a new key, and hands it to the operations. */
async function agree(ui, audience) {
  const { privateKey, publicKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify']);
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey);
  const policy = await (await read('api/policy')).arrayBuffer();
  const agentId = `docs-${crypto.randomUUID()}`;
  const response = await fetch(at('api/pat/issue'), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      agent_id: agentId,
      signed_policy: await signPolicy(policy, privateKey, audience),
      agent_public_key: JSON.stringify({ kty, crv, x, y }),
    }),
  });
  const body = await response.json();
  if (!response.ok) throw new Error(body.error.message);
  const [, pat] = Object.entries(body).find(([name]) => name.endsWith('-pat'));
  ui.preauthorizeApiKey('pat', pat);
  return `You are the agent ${agentId}. Your PAT is in use below until ${new Date(body.expires_at).toLocaleTimeString()}.`;
}

function offerPat(ui, audience) {
  const button = document.getElementById('agree');
  const status = document.getElementById('agreed');
  button.disabled = false;
  button.addEventListener('click', async () => {
    button.disabled = true;
    status.textContent = 'Signing …';
    try {
      status.textContent = await agree(ui, audience);
    } catch (error) {
      status.textContent = `No PAT: ${error.message}`;
    }
    button.disabled = false;
  });
}

followColorScheme();
try {
  const description = await (await read('openapi.json')).json();
  const ui = await showOperations(description);
  openFromLinks();
  // What has come in above it has moved it away.
  document.querySelector(':target')?.scrollIntoView();
  // Web Crypto is there for secure addresses alone, which http on other machines is not.
  if (crypto.subtle) offerPat(ui, description.servers[0].url);
} catch (error) {
  document.getElementById('reference').textContent = `The operations cannot be shown: ${error.message}. Load the page again.`;
}
