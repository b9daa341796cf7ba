/** `npm run --silent token [-- user]`: prints an access token of the running stack, for the admin or the ordinary user. */
import { findStackFile, readDescription, stackFile } from './stack-file.ts';

const { INTENT_GATE_URL: url } = process.env;
const path = url ? findStackFile(url) : stackFile();
const description = path && readDescription(path);
if (description) {
  console.log(process.argv[2] === 'user' ? description.user_token : description.admin_token);
} else {
  console.error(`No local stack is running${url ? ` at ${url}` : ''}. Start one with: npm start`);
  process.exitCode = 1;
}
