/** `npm run props`: writes lib/settings/props.ts, the settings as properties of the construct. */
import { writeFileSync } from 'node:fs';
import { renderProps } from '../lib/settings/render-props.ts';

writeFileSync('lib/settings/props.ts', renderProps());
