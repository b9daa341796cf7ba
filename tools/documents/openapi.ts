/** `npm run openapi`: writes openapi.json, the OpenAPI document of a deployment with default settings. */
import { readFileSync, writeFileSync } from 'node:fs';
import { toOpenApi } from '../../lib/documents/document.ts';

const document = toOpenApi({ protocol: 'proto', aliases: true, policy: readFileSync('policy.json', 'utf8') });
writeFileSync('openapi.json', `${JSON.stringify(document, null, 2)}\n`);
