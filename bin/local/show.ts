import { readFileSync } from 'node:fs';
import { findContradictions } from '../../functions/core/policy/contradictions.ts';
import { fillTemplate, parsePolicyTemplate } from '../../functions/core/policy/template.ts';
import { printLine, printRemark, style } from '../cli/terminal.ts';
import type { Answered } from './gateway.ts';
import type { StackDescription } from './stack-file.ts';

type Start = Pick<StackDescription, 'base_url' | 'other_urls' | 'user_password' | 'admin_password'>;

/** Prints the stack's addresses and how to use them. */
export function showStart({ base_url, other_urls = [], user_password, admin_password }: Start, offersSignIn: boolean): void {
  const strong = (text: string) => style('bold', text);
  const signIn = `
MCP with sign-in:  ${strong(`${base_url}/mcp/sign-in`)}   (for hosts that support OAuth: user ${strong('user')}, password ${strong(user_password)})`;
  printLine(`
Intent Gate is running at ${[base_url, ...other_urls].map(strong).join(' and ')}

Search:            ${strong(`curl -s '${base_url}/api/intents/search?query=what+time+is+it+elsewhere'`)}
Read the policy:   ${strong(`curl -s ${base_url}/api/policy`)}
Make a first call: ${strong('npx intent-gate try current time in tokyo --accept-policy --param time_zone=Asia/Tokyo')}

Explore:           ${strong(base_url)}   (as an admin: user ${strong('admin')}, password ${strong(admin_password)})
API reference:     ${strong(`${base_url}/docs`)}
In an MCP host:    ${strong(`npx intent-gate mcp --config ${base_url}`)}   (or ${base_url}/mcp)${offersSignIn ? signIn : ''}
Sign in as admin:  ${strong('npx intent-gate login --local')}
Get a token:       ${strong('npm run --silent token')}   (an admin token, valid for an hour; .local/stack.json has all addresses and tokens)
Press Ctrl-C to stop.
`);
}

/** Warns of policy rules without effect. Synthesis warns too, but is skipped when its result is cached. */
export function showWarnings({ policy_file, base_url }: Pick<StackDescription, 'policy_file' | 'base_url'>): void {
  const policy = fillTemplate(parsePolicyTemplate(readFileSync(policy_file, 'utf8'), base_url), base_url);
  for (const { path, problem } of findContradictions(policy, base_url, Date.now()))
    printRemark(`Warning: ${policy_file}: ${path} ${problem}`);
}

/** Prints a line per request. */
export function showAnswered({ method, path, status, durationMs }: Answered): void {
  const code = style(status < 400 ? 'green' : status < 500 ? 'yellow' : 'red', String(status));
  printLine(`${code} ${method} ${path.replace(/[^\x21-\x7e]/g, '?')} ${durationMs.toFixed(0)} ms`);
}

/** Prints errors from the functions' logs, and output that is not a log line. */
export function showLog(line: string, functionName: string): void {
  if (/"level":"(ERROR|CRITICAL)"/.test(line) || !line.startsWith('{')) printRemark(style('red', `${functionName}: ${line}`));
}
