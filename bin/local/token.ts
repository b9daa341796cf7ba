/** `npm run --silent token [-- user]`: prints an access token of the running stack, for the admin or the ordinary user. */
import { readDescription } from './stack-file.ts';

const description = readDescription();
if (description) {
  console.log(process.argv[2] === 'user' ? description.user_token : description.admin_token);
} else {
  console.error('No local stack is running. Start one with: npm start');
  process.exitCode = 1;
}
