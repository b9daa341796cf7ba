import { createHash } from 'node:crypto';
import type { ApiResponse } from './response.ts';

/** Placeholders of the reference page and the console, which handlers fill in. */
export const policyPlace = '<!-- policy -->';
export const deploymentPlace = '<!-- deployment -->';

/** What the console knows about its gate. */
export interface Deployment {
  /** the gate's public address, which policies and proofs name */
  publicUrl: string;
  signIn?: {
    /** address of the user pool's sign-in pages, for example `https://<prefix>.auth.<region>.amazoncognito.com` */
    domain: string;
    clientId: string;
  };
  offersSignIn?: true;
  version?: string;
  /** callers see only intents that they may execute */
  hidesIntents?: true;
  /** hosts on the developer's own network that intents may call; in a local stack only */
  localUpstreams?: readonly string[];
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');

export const listItems = (texts: readonly string[]): string => texts.map((text) => `<li>${escapeHtml(text)}</li>`).join('\n');

const style = `
:root { color-scheme: light dark; --ink: #1d2733; --quiet: #4d5966; --paper: #ffffff; --shade: #f4f6f8; --line: #d9dfe5; --accent: #1458a8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ee; --quiet: #a9b5c1; --paper: #1c2022; --shade: #262b2f; --line: #3b4349; --accent: #8ab8f0; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem / 1.6 system-ui, sans-serif; }
main { max-width: 44rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
h1, h2 { line-height: 1.25; text-wrap: balance; }
h1 { font-size: clamp(1.5rem, 5vw, 2rem); }
h2 { font-size: 1.2rem; margin-top: 2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.35rem 1.25rem; padding: 1rem; background: var(--shade); border-radius: 0.5rem; }
dt { color: var(--quiet); }
dd { margin: 0; font-weight: 600; }
li { margin: 0.35rem 0; }
a { color: var(--accent); }
form { display: flex; flex-wrap: wrap; gap: 1rem; margin-top: 2rem; }
button { font: inherit; font-weight: 600; padding: 0.6rem 1.5rem; border: 2px solid var(--accent); border-radius: 0.375rem; cursor: pointer; }
button[value="accept"] { background: var(--accent); color: var(--paper); }
button[value="decline"] { background: transparent; color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 0.5rem; } }
`;

/**
 * An HTML page without scripts.
 * @param options.formTarget - origin to which a form's response may redirect: browsers apply `form-action` to it, too
 */
export function page(
  title: string,
  content: string,
  { status = 200, headers = {}, formTarget = '' }: Partial<Pick<ApiResponse, 'status' | 'headers'>> & { formTarget?: string } = {},
): ApiResponse {
  const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} - Intent Gate</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${content}
</main>
</body>
</html>
`;
  return {
    status,
    text,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': [
        "default-src 'none'",
        `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
        'img-src data:',
        "base-uri 'none'",
        `form-action 'self' ${formTarget}`.trim(),
        "frame-ancestors 'none'",
      ].join('; '),
      'X-Frame-Options': 'DENY',
      // with no-referrer, browsers would send the form with "Origin: null"
      'Referrer-Policy': 'same-origin',
      ...headers,
    },
  };
}
