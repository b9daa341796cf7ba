/** `npm run permissions`: writes docs/permissions.md. */
import { writeFileSync } from 'node:fs';
import { renderPermissions } from '../lib/permissions-table.ts';

writeFileSync('docs/permissions.md', renderPermissions());
