/** `npm run props`: writes bin/gate-settings.ts, the settings as properties of the construct. */
import { writeFileSync } from 'node:fs';
import { renderProps } from './render-props.ts';

writeFileSync('bin/gate-settings.ts', renderProps());
