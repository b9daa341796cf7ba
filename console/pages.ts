import { deploymentPlace, escapeHtml, policyPlace } from '../functions/core/http/page.ts';
import { errorTable } from '../schemas/errors.ts';
import type { Asset } from './assets.ts';

/**
 * The served pages and the files that they load: contents by path, for each kind of document that a function may need.
 * @param protocol - prefix of error references
 */
export const buildPages = (protocol: string, assets: readonly Asset[]) => ({
  console: { 'console.html': renderConsole(protocol, assets) },
  page: { 'page.html': renderReference(protocol, assets) },
  assets: Object.fromEntries(assets.map(({ name, text }) => [`assets/${name}`, text])),
});

/**
 * Renders a page with only relative URLs, so that it works below any path.
 * @param script - the asset that it runs
 * @param attributes - additional attributes of the root element
 */
function renderPage(assets: readonly Asset[], script: string, attributes: string, body: string): string {
  const addressOf = (file: string): string => `docs/${assets.find((asset) => asset.file === file)?.name}`;
  return `<!doctype html>
<html lang="en"${attributes}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Intent Gate</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${addressOf('console.css')}">
<link rel="license" href="${addressOf('licences.txt')}">
<script type="module" src="${addressOf(script)}"></script>
</head>
<body>
${body}
</body>
</html>
`;
}

/** The console's page. The function fills in the deployment. */
export const renderConsole = (protocol: string, assets: readonly Asset[]): string =>
  renderPage(
    assets,
    'console.js',
    ` data-protocol="${protocol.toUpperCase()}" data-deployment="${deploymentPlace}"`,
    `<div id="console">
<noscript><main>
<h1>Intent Gate</h1>
<p>This page needs JavaScript. Without it, read the <a href="openapi.json">OpenAPI document</a>, the <a href="docs">API reference</a> or the <a href="api/intents/search">list of operations</a>.</p>
</main></noscript>
</div>`,
  );

/**
 * The page at `/docs`, for programs and browsers without JavaScript; its script redirects to the reference in the console. The function fills in the
 * policy, because it knows the gate's address.
 */
export const renderReference = (protocol: string, assets: readonly Asset[]): string =>
  renderPage(
    assets,
    'open-reference.js',
    '',
    `<main>
<h1>Intent Gate: API reference</h1>
<p>An intent is a described operation of a web service. Through this gate, agents find intents, accept a usage policy, and run intents within it.</p>
<noscript><p>To browse and try the operations, turn on JavaScript.</p></noscript>
<ul>
<li><a href="openapi.json">OpenAPI document</a>: every operation, with its parameters, responses and examples</li>
<li><a href="agents.json">Description for agents</a></li>
<li><a href="api/policy">Policy</a></li>
<li><a href=".well-known/jwks.json">Public keys that verify PATs</a></li>
<li><a href="console">Catalogue and console</a></li>
</ul>
<h2 id="policy">Usage policy</h2>
<ul>
${policyPlace}
</ul>
<h2 id="errors">Errors</h2>
<p>Every response other than 2xx is <code>{"error":{"code","message","details"}}</code>. The message says what went wrong and what to do next; <code>details.request_id</code> identifies the request.</p>
<div class="scrolled" role="region" aria-label="Errors" tabindex="0">
<table>
<thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Reference</th><th scope="col">Meaning</th></tr></thead>
<tbody>
${Object.entries(errorTable)
  .map(([code, { status, reference, meaning }]) => {
    const cells = [status, `${protocol.toUpperCase()}-${reference}`, toHtml(meaning)].map((cell) => `<td>${cell}</td>`).join('');
    return `<tr id="${code}"><th scope="row">${code}</th>${cells}</tr>`;
  })
  .join('\n')}
</tbody>
</table>
</div>
</main>`,
  );

/** Converts text with Markdown code spans to HTML. */
const toHtml = (text: string): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
