import { deploymentPlace } from '../../functions/core/documents/console-page.ts';
import { type Asset, nameAsset } from '../docs/assets.ts';

/**
 * The page of catalogue and console: everything in it is made by its script. All its addresses are relative, so that it works below any path;
 * the function fills the place of the deployment.
 */
export function renderConsole(assets: readonly Asset[]): string {
  const nameOf = (file: string): string => `docs/${nameAsset(assets, file)}`;
  return `<!doctype html>
<html lang="en" data-deployment="${deploymentPlace}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Intent Gate</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${nameOf('console.css')}">
<link rel="license" href="${nameOf('console.LICENSES.txt')}">
<script type="module" src="${nameOf('console.js')}"></script>
</head>
<body>
<div id="console">
<noscript><p>This page needs JavaScript. The same can be read at <a href="api/intents/search">api/intents/search</a>, and <a href="docs">docs</a> describes it.</p></noscript>
</div>
</body>
</html>
`;
}
