import { connect, PolicyDeclined } from '../../client/connect.ts';

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

/** The page has its own heading, calls the gate that it came from, and has its own targets for links. */
const partOfPage = () => ({
  wrapComponents: { InfoContainer: () => () => null, ServersContainer: () => () => null },
  statePlugins: {
    layout: { wrapActions: { parseDeepLinkHash: (follow) => (hash) => (hash.startsWith('#/') ? follow(hash) : undefined) } },
  },
});

/** Shows the operations, and scrolls to the one that the address names. */
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

/** Links such as #/Discovery/search-intents lead to the operation, as they do when the page is loaded with such an address. */
function openFromLinks() {
  addEventListener('hashchange', () => {
    if (!location.hash.startsWith('#/')) return;
    const operation = document.getElementById(`operations-${location.hash.slice(2).replace('/', '-')}`);
    if (operation && !operation.classList.contains('is-open')) operation.querySelector('.opblock-summary-control').click();
    operation?.scrollIntoView();
  });
}

/** What a control of Swagger UI that has no name of its own is for. */
function nameOf(control) {
  const parameter = control.closest('tr[data-param-name]')?.dataset.paramName;
  if (parameter !== undefined) return parameter;
  if (control.closest('.examples-select')) return 'Example';
  if (control.matches('.content-type') || control.closest('.content-type-wrapper, .response-control-media-type')) return 'Media type';
  return control.matches('textarea') ? 'Body of the request' : 'Value';
}

/** Swagger UI draws controls without names, links within buttons and regions that cannot be reached by keyboard, whenever something is opened. */
function makeAccessible() {
  const reference = document.getElementById('reference');
  const mend = () => {
    for (const control of reference.querySelectorAll('select, textarea, input')) {
      if (!control.hasAttribute('aria-label') && !control.labels?.length) control.setAttribute('aria-label', nameOf(control));
    }
    for (const region of reference.querySelectorAll('[role="region"]:not([aria-label])'))
      region.setAttribute('aria-label', region.id.replaceAll('_', ' '));
    // a link within a button; the button leads to the same address
    for (const link of reference.querySelectorAll('.opblock-summary-control a[href]')) link.removeAttribute('href');
    for (const region of reference.querySelectorAll('pre:not([tabindex]), .highlight-code > *:not([tabindex])')) region.tabIndex = 0;
    const execute = reference.querySelector('[id="operations-Execution-execute-intent"] .execute-wrapper');
    if (execute) hint(execute);
  };
  new MutationObserver(mend).observe(reference, { childList: true, subtree: true });
  mend();
}

/** Beside “Execute” of what needs a PAT: where to get one, as long as there is none. */
function hint(wrapper) {
  if (document.getElementById('agree').dataset.agreed !== undefined || wrapper.querySelector('.needs-pat')) return;
  const text = Object.assign(document.createElement('p'), { className: 'needs-pat', textContent: 'This needs a PAT: ' });
  text.append(Object.assign(document.createElement('a'), { href: '#policy', textContent: 'agree to the policy first' }));
  wrapper.append(text);
}

/** The sentences shown on the page. */
const listSentences = () => [...document.querySelectorAll('#policy .sentences li')].map(({ textContent }) => textContent);

function showSentences(sentences) {
  const items = sentences.map((sentence) => Object.assign(document.createElement('li'), { textContent: sentence }));
  document.querySelector('#policy .sentences').replaceChildren(...items);
}

/** Agrees to what the page says: if the policy has changed since, the page says so, and nothing is signed. */
function isAsShown(_, inWords) {
  const isShown = JSON.stringify(inWords) === JSON.stringify(listSentences());
  if (!isShown) showSentences(inWords);
  return isShown;
}

/** Gets a PAT for a new key, and passes it to the operations. */
async function agree(ui, publicUrl) {
  const agentId = `docs-${crypto.randomUUID()}`;
  const gate = await connect(base.href, { agentId, publicUrl, onPolicy: isAsShown });
  const { pat, expiresAt } = await gate.obtainPat().catch((error) => {
    throw error instanceof PolicyDeclined ? new Error('the policy has changed. Read it again, then agree.') : error;
  });
  ui.preauthorizeApiKey('pat', pat);
  return `You are the agent ${agentId}. Your PAT is in use below until ${expiresAt.toLocaleTimeString()}.`;
}

function offerPat(ui, publicUrl) {
  const button = document.getElementById('agree');
  const status = document.getElementById('agreed');
  button.disabled = false;
  button.addEventListener('click', async () => {
    button.disabled = true;
    status.textContent = 'Signing …';
    try {
      status.textContent = await agree(ui, publicUrl);
      button.textContent = 'Agreed. Get another PAT';
      button.dataset.agreed = '';
      for (const hinted of document.querySelectorAll('.needs-pat')) hinted.remove();
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
  makeAccessible();
  // Content that was inserted above has moved it.
  document.querySelector(':target')?.scrollIntoView();
  // Web Crypto exists only on secure addresses, which http on other machines is not.
  if (crypto.subtle) offerPat(ui, description.servers[0].url);
} catch (error) {
  document.getElementById('reference').textContent = `The operations cannot be shown: ${error.message}. Load the page again.`;
}
