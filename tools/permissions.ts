/** `npm run permissions`: writes docs/permissions.md. */
import { writeFileSync } from 'node:fs';
import { renderPermissions } from './render-permissions.ts';

writeFileSync('docs/permissions.md', renderPermissions());
