import { escapeHtml, policyPlace } from '../../functions/core/documents/policy-page.ts';
import { type ErrorCode, errorTable } from '../../schemas/errors.ts';
import { type Asset, nameAsset } from './assets.ts';

/** Prose of the error table, with code spans as in Markdown. */
const toHtml = (text: string): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');

function errorRow(code: ErrorCode, protocol: string): string {
  const { status, reference, meaning } = errorTable[code];
  return `<tr id="${code}">
<th scope="row"><a href="#${code}">${code}</a></th>
<td data-label="Status">${status}</td>
<td data-label="Reference">${protocol.toUpperCase()}-${reference}</td>
<td data-label="Meaning">${toHtml(meaning)}</td>
</tr>`;
}

/**
 * The reference page. All its addresses are relative, so that it works below any path; the function fills the place of the policy,
 * because it knows the address at which the gate is called.
 */
export function renderPage(protocol: string, assets: readonly Asset[]): string {
  const nameOf = (file: string): string => `docs/${nameAsset(assets, file)}`;
  const codes = Object.keys(errorTable) as ErrorCode[];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Intent Gate: reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${nameOf('swagger-ui.css')}">
<link rel="stylesheet" href="${nameOf('reference.css')}">
<script defer src="${nameOf('swagger-ui-bundle.js')}"></script>
<script type="module" src="${nameOf('reference.js')}"></script>
</head>
<body>
<a class="skip" href="#operations">Skip to the operations</a>
<header>
<p class="name">Intent Gate</p>
<nav aria-label="On this page">
<a href="#policy">Policy</a>
<a href="#operations">Operations</a>
<a href="#errors">Errors</a>
</nav>
</header>
<div class="content">
<section aria-labelledby="title">
<h1 id="title">Find an intent, agree to the policy, run it</h1>
<p class="lead">An intent is a described operation of somebody's web service. This gate lets agents find them by a question, and run them within a policy that they have signed.</p>
<ol class="steps">
<li><a href="#/Discovery/search-intents">Search</a> in plain words. Each hit shows its parameters.</li>
<li>Read the <a href="#policy">policy</a>, sign it with a key of your own, and <a href="#/Policy/issue-pat">get a PAT</a>, a Policy Adherence Token.</li>
<li><a href="#/Execution/execute-intent">Execute</a> the intent with the PAT.</li>
</ol>
<p>For people: the <a href="console">catalogue and console</a>. For programs: <a href="openapi.json">OpenAPI document</a>, <a href="agents.json">description for agents</a>, <a href=".well-known/jwks.json">keys that verify PATs</a>.</p>
</section>
<section id="policy" aria-labelledby="policy-title">
<h2 id="policy-title">The policy in plain words</h2>
<ul class="sentences">
${policyPlace}
</ul>
<p>What is signed is the <a href="api/policy">policy itself</a>. A PAT ends when the policy changes.</p>
<div class="agree">
<button type="button" id="agree" disabled>Agree, and get a PAT for this page</button>
<p id="agreed" role="status">Makes a key that never leaves this page, signs the policy with it, and uses the PAT in what you try below.</p>
</div>
</section>
<section id="operations" aria-labelledby="operations-title">
<h2 id="operations-title">Operations</h2>
<p>“Execute” sends a real request to this gate. Operations with a lock need a PAT or an admin's token: give one with “Authorize”.</p>
<noscript><p>This part needs JavaScript. All that it shows is in the <a href="openapi.json">OpenAPI document</a>.</p></noscript>
</section>
<div id="reference"><p id="loading">Loading …</p></div>
<section id="errors" aria-labelledby="errors-title">
<h2 id="errors-title">Errors</h2>
<p>Every answer that is not 2xx is <code>{"error":{"code","message","details"}}</code>. The message says what is wrong and what to do next, and <code>details.request_id</code> names the request.</p>
<table>
<thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Reference</th><th scope="col">Meaning</th></tr></thead>
<tbody>
${codes.map((code) => errorRow(code, protocol)).join('\n')}
</tbody>
</table>
</section>
</div>
<footer>
<p>The operations are shown with Swagger UI, under the Apache License 2.0 and <a href="${nameOf('swagger-ui-bundle.js.LICENSE.txt')}">others</a>.</p>
</footer>
</body>
</html>
`;
}
