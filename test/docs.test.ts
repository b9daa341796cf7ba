import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import type * as z from 'zod';
import { createProgram } from '../bin/cli/program.ts';
import { type Comparison, comparisons } from '../functions/core/policy/conditions.ts';
import { interpretPolicy } from '../functions/core/policy/reading.ts';
import { parsePolicyTemplate } from '../functions/core/policy/template.ts';
import { mapAnswer } from '../functions/core/relay/answer.ts';
import { buildRequest } from '../functions/core/relay/build-request.ts';
import { buildHeaders } from '../functions/core/relay/headers.ts';
import { openRedactor } from '../functions/core/relay/redact.ts';
import { readTrace, withinTrace } from '../functions/core/runtime/trace.ts';
import { openTools } from '../functions/mcp/tools.ts';
import { openCallSigner } from '../functions/web-bot-auth/signer.ts';
import { responseHeaders } from '../lib/documents/headers.ts';
import { endpoints } from '../lib/endpoints.ts';
import { describeSettings, parseSettings, SettingsError, warnOfRates } from '../lib/settings.ts';
import { exitCodes } from '../registry/failure.ts';
import { oauthFacts } from '../schemas/connections/oauth-client.ts';
import { executionState } from '../schemas/deferred.ts';
import { errorTable } from '../schemas/errors.ts';
import { endpoint, intentInput } from '../schemas/intent.ts';
import { type Parameter, parameter } from '../schemas/parameter.ts';
import { keyPatClaims, personPatClaims } from '../schemas/pat.ts';
import { receiptClaims } from '../schemas/receipts/receipts.ts';
import { searchQuery } from '../schemas/search.ts';
import { dollarsPerMillion } from '../tools/bench/prices.ts';
import { callOf } from './support/call-upstream.ts';
import { openPolicy } from './support/policy.ts';
import { makeCallKeys } from './support/web-bot-auth/call-keys.ts';

/** Most words of README.md, CONTRIBUTING.md and docs/ together, without rows of tables: `cat README.md CONTRIBUTING.md docs/*.md | grep -v '^|' | wc -w`. */
const maxWords = 15_000;

const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md')];
const textOf = (page: string): string => readFileSync(page, 'utf8');
const withoutCode = (page: string): string => textOf(page).replaceAll(/^ *```.*?^ *```$/gms, '');
const isWritten = (page: string): boolean => textOf(page).includes('<!-- Written by "npm run');

interface Table {
  page: string;
  /** the cells of its first line */
  head: string;
  rows: string[][];
  lines: string[];
}

const tables = pages.flatMap((page) =>
  [...withoutCode(page).matchAll(/(?:^ *\|.*\n)+/gm)].map(([text]): Table => {
    const [head = '', , ...lines] = text.trim().split('\n');
    const cellsOf = (line: string) =>
      line
        .trim()
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim());
    return { page, head: cellsOf(head).join(' | '), rows: lines.map(cellsOf), lines };
  }),
);

const codeIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
const firstCells = ({ rows }: Table): string[] => rows.map(([cell = '']) => cell);

/** Expects that each code in the first cells is a member of a schema, or one with a valid value. */
function expectMembers(table: Table, schema: z.ZodObject): void {
  for (const code of firstCells(table).flatMap(codeIn)) {
    const member = code.includes(':') ? parse(code) : { [code]: undefined };
    expect(schema.partial().safeParse(member)).toMatchObject({ success: true });
  }
}

function namesFiles({ rows }: Table): void {
  const paths = rows.flatMap((cells) => codeIn(cells.join(' ')));
  const complete = paths.filter((path) => /^(?:bin|client|functions|lib|samples|schemas|test)\//.test(path));
  expect(complete.length).toBeGreaterThan(5);
  expect(complete.filter((path) => !existsSync(path))).toEqual([]);
}

/** What the gate sends for a row that shows parameters as members of JSON. */
function urlOf(path: string, members: string, declared: Partial<Parameter> = {}): string {
  const values = JSON.parse(members.startsWith('{') ? members : `{${members}}`);
  const input_parameters = [...new Set([...Object.keys(values), ...(path.match(/\w+(?=[,}])/g) ?? [])])].map((name) => ({
    name,
    type: 'any' as const,
    ...declared,
  }));
  const endpoint = { url: `https://service.example${path}`, method: 'GET' as const, content_type: 'application/json' };
  return buildRequest({ endpoint, input_parameters }, values).url.slice('https://service.example'.length);
}

const queryOf = (members: string, declared?: Partial<Parameter>): string => urlOf('/', members, declared).replace(/^\/\??/, '');

/** What an upstream's refusal comes to. */
function refusalOf(status: number): string {
  const url = 'https://service.example/';
  const answer = { status, headers: {}, url, body: Buffer.from(''), redactor: openRedactor(undefined), durationMs: 1 };
  try {
    mapAnswer(answer, { output_parameters: [], endpoint: { url, method: 'GET', content_type: 'application/json' } });
  } catch (error) {
    const { status: own, code } = error as { status: number; code: string };
    return `${own} \`${code}\``;
  }
  return 'nothing was refused';
}

const sign = await openCallSigner(makeCallKeys())();

/** Every header of a call whose agent sent an idempotency key. */
function listHeaders(): string[] {
  const call = callOf('https://service.example/', { agentDomain: 'bot.example', idempotencyKey: 'again' });
  const credential = { headers: {}, query: {} };
  const trace = readTrace(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, 'a=1');
  const headers = withinTrace(trace, () => buildHeaders(call, new URL('https://service.example/'), credential, [sign]));
  return Object.keys(headers).map((name) => name.toLowerCase());
}

/** A right operand that a left one takes with this operator. */
function operandFor(left: string, operator: Comparison): unknown {
  const one =
    {
      dateTime: '2030-01-01T00:00:00Z',
      timeOfDay: '09:00',
      dayOfWeek: 'monday',
      method: 'GET',
      agentKey: 'a'.repeat(43),
      agentDomain: 'bot.example',
    }[left] ?? (left.includes('/') ? 5 : 'some');
  return operator === 'within' ? [one] : one;
}

function takesCondition(left: string, operator: Comparison): boolean {
  const target = 'https://gate.example/api/intents';
  const constraint = [
    { leftOperand: left.replace('<target>', target).replace('<name>', 'amount'), operator, rightOperand: operandFor(left, operator) },
  ];
  try {
    interpretPolicy(
      parsePolicyTemplate(JSON.stringify({ permission: [{ target, action: 'execute', constraint }] })),
      'https://gate.example',
    );
    return true;
  } catch {
    return false;
  }
}

/** Every command that does something, with those above it. */
const listCommands = ({ commands }: { commands: readonly CommandLike[] }, above = ''): string[] =>
  commands.flatMap((command) => {
    const name = `${above}${command.name()}`;
    const own = command.commands.length === 0 || command.registeredArguments.length > 0 ? [name] : [];
    return [...own, ...listCommands(command, `${name} `)];
  });
interface CommandLike {
  name(): string;
  commands: readonly CommandLike[];
  registeredArguments: readonly unknown[];
}

const credentials = { none: 'none', pat: 'Bearer PAT', admin: 'Bearer admin token' };

/** The sums of the columns of the table of costs, which the page adds up for its examples. */
/** The first two sums of docs/cost.md, of what a month costs in any case and of what a million executions add. */
const costTotals = ({ rows }: { rows: string[][] }) => {
  const sumOf = (column: number) => Number(rows.reduce((sum, cells) => sum + Number(cells[column]), 0).toFixed(2));
  return { fixed: sumOf(1), rate: sumOf(2) };
};

const counts: Record<string, number> = { a: 1, Contributor: 1, two: 2, three: 3, four: 4, five: 5 };

/** The sum of what a text lists as "15 alarms at 0.10". */
const listedCost = (text: string): number =>
  [...text.matchAll(/([\d.]+|a|Contributor|two|three|five) [a-zA-Z]+(?: units)? at (\d+\.\d+)/g)].reduce(
    (sum, [, count = '', price]) => sum + (counts[count] ?? Number(count)) * Number(price),
    0,
  );

/** Processor time of an execution, as docs/cost.md states it. */
const executionMs = 2;

/** What each table says is compared with the code: by its check, or by the tests that are named. Pages that are written by a program have none. */
const checks: Record<string, ((table: Table) => void) | string> = {
  '# | method | path | credential | success': ({ lines }) =>
    expect(lines).toEqual(
      endpoints.map(
        ({ specRow, method, path, credential, success }) =>
          `| ${specRow ?? ''} | ${method} | \`${path}\` | ${credentials[credential]} | ${success} |`,
      ),
    ),
  'code | status | reference | meaning': ({ lines }) =>
    expect(lines).toEqual(
      Object.entries(errorTable).map(
        ([code, { status, reference, meaning }]) => `| ${code} | ${status} | PROTO-${reference} | ${meaning} |`,
      ),
    ),
  'situation | what happens': 'test/functions/core/execution/call-queue.test.ts',
  'to | how': 'test/functions/approvals/send-notices.test.ts',
  'bound | at most': 'test/functions/core/relay/http-client.test.ts',
  'corpus | nDCG@10 | with plain FTS5': 'tools/bench/search.ts',
  'grant | whose token a call carries': (table) => {
    expect(firstCells(table).flatMap(codeIn)).toEqual(oauthFacts.shape.grant.options);
  },
  'refusal | what it means': 'test/functions/connections/person-tokens.test.ts',
  'with tokens | what happens': 'test/functions/connections/person-tokens.test.ts',
  'what stays | a month | remove it with': 'test/lib/template.check.ts',
  'scenarios | promise': 'test/long/prove.ts',
  'with real components | promise': 'test/long/prove.ts',
  'socket | what a feature adds': namesFiles,
  'change of `vpc` | what you see': 'test/lib/template.check.ts',
  'load | first limit | what to do': ({ rows }) => {
    const { requestsPerSecond } = parseSettings({});
    const loads = rows.map(([load]) => load);
    expect(loads).toEqual(expect.arrayContaining([`${requestsPerSecond}/s`, '3,000/s', '250,000 intents']));
    expect(warnOfRates(parseSettings({ requestsPerSecond: 3_000 }))).toEqual([]);
    expect(warnOfRates(parseSettings({ requestsPerSecond: 3_001 }))).toHaveLength(1);
    expect(() => parseSettings({ requestsPerSecond: 10_001 })).toThrow(SettingsError);
    expect(() => parseSettings({ expectedIntents: 250_001 })).toThrow(SettingsError);
  },
  'work | processor time per 1,000 | headroom at 10,000/s on one core | requests per 1,000 | memory': 'tools/bench/ceilings.ts',
  'with `catalogue: permitted` | ': 'test/functions/catalogue.test.ts',
  'with `showHealth` | ': 'test/functions/usage/health.test.ts',
  'stored as | told as | until | its key': ({ rows }) => {
    const [, states = ''] = /^ {2}state: ('.*);$/m.exec(textOf('functions/core/execution/idempotent-call-store.ts')) ?? [];
    expect(rows.flatMap(([stored = '']) => codeIn(stored)).sort()).toEqual(
      [...states.matchAll(/'(\w+)'/g)].map(([, state]) => state).sort(),
    );
  },
  'setting | default | meaning': ({ lines }) =>
    expect(lines).toEqual(describeSettings().map(({ name, fallback, meaning }) => `| \`${name}\` | ${fallback} | ${meaning} |`)),
  'endpoint | type | used for': (table) => {
    const needs = endpoints.map((endpoint) => endpoint.needs).filter(({ egress }) => egress === 'intents');
    const services = {
      table: 'dynamodb',
      snapshots: 's3',
      kms: 'kms',
      invokes: 'lambda',
      announces: 'events',
      credentials: 'secretsmanager',
    } as const;
    const used = (Object.keys(services) as (keyof typeof services)[]).filter((need) => needs.some((each) => each[need] !== undefined));
    expect(firstCells(table).flatMap(codeIn)).toEqual(used.map((need) => services[need]));
  },
  'folder | contents': (table) => {
    namesFiles(table);
    const folders = readdirSync('.', { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && !/^(\.|node_modules|docs|cdk)/.test(entry.name),
    );
    expect(firstCells(table)).toEqual(expect.arrayContaining(folders.map(({ name }) => `\`${name}/\``)));
  },
  'in `functions/core/` | contents': (table) => {
    const rooms = readdirSync('functions/core', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(firstCells(table).sort()).toEqual(rooms.map(({ name }) => `\`${name}/\``).sort());
  },
  'looking for | start at': namesFiles,
  'word | meaning | look at': namesFiles,
  'step | file | what it does': (table) => {
    namesFiles(table);
    const steps = textOf('functions/execute-intent.ts').matchAll(
      /\b(\w+)\((?:request, nowMs|execution\b|relay|calls,|call,|action,|\{ calls, intents \},)/g,
    );
    expect(new Set(firstCells(table).flatMap(codeIn))).toEqual(new Set([...steps].map(([, step]) => step)));
  },
  'response | what to do': (table) => {
    const named = firstCells(table).flatMap((cell) =>
      [...cell.matchAll(/[A-Z]+(?:_[A-Z]+)+|FORBIDDEN|UNAUTHORIZED|CONFLICT/g)].map(([code]) => code),
    );
    expect([...new Set(named)].sort()).toEqual(Object.keys(errorTable).sort());
  },
  'script | what it does': (table) => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
    for (const command of firstCells(table).flatMap(codeIn)) {
      const [, script = ''] = /^npm (?:run )?(?:--silent )?([\w:]+)/.exec(command) ?? [];
      expect([command, Object.keys(scripts).includes(script) || existsSync(command)]).toEqual([command, true]);
    }
  },
  'task | how': (table) => {
    namesFiles(table);
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
    const run = codeIn(table.lines.join()).flatMap((code) => /^npm (?:run )?([\w:]+)/.exec(code)?.[1] ?? []);
    expect(run.filter((script) => scripts[script] === undefined)).toEqual([]);
  },
  '# | file | what it says': (table) => {
    namesFiles(table);
    const files = table.rows.flatMap(([, cell = '']) => codeIn(cell));
    expect(table.rows.map(([at]) => Number(at))).toEqual(files.map((_, at) => at + 1));
    expect(files.length).toBeLessThanOrEqual(60);
    expect(files.reduce((lines, file) => lines + textOf(file).split('\n').length - 1, 0)).toBeLessThanOrEqual(7_000);
  },
  'feature | what it adds': (table) => {
    const folders = readdirSync('functions', { withFileTypes: true }).filter((entry) => entry.isDirectory() && entry.name !== 'core');
    expect(firstCells(table).flatMap(codeIn)).toEqual(folders.map(({ name }) => name).sort());
  },
  'phase of `attempt` | what happens': 'test/functions/execute-intent.test.ts',
  'part | how it works': namesFiles,
  'decision | reason | price': namesFiles,
  'claim | meaning': (table) =>
    expect(new Set(firstCells(table).flatMap(codeIn))).toEqual(
      new Set([...Object.keys(keyPatClaims.shape), ...Object.keys(personPatClaims.shape)]),
    ),
  'URL | parameters | becomes': ({ rows }) => {
    for (const cells of rows) {
      const [url = '', members = '', becomes] = cells.flatMap(codeIn);
      expect(urlOf(url, members)).toBe(becomes);
    }
  },
  'parameter | becomes': ({ rows }) => {
    for (const [members = '', becomes = ''] of rows)
      expect(queryOf(codeIn(members).join(', '))).toBe(becomes === 'nothing' ? '' : codeIn(becomes)[0]);
  },
  '`style` | parameter | becomes': ({ rows }) => {
    for (const cells of rows) {
      const [style, members = '', becomes = ''] = cells.flatMap(codeIn);
      expect(queryOf(members, { style: style as Parameter['style'] })).toBe(becomes.replaceAll('[', '%5B').replaceAll(']', '%5D'));
    }
  },
  'header | value': (table) =>
    expect(
      firstCells(table)
        .flatMap(codeIn)
        .map((name) => name.toLowerCase())
        .sort(),
    ).toEqual(listHeaders().sort()),
  'response header | value': (table) =>
    expect(firstCells(table).flatMap(codeIn).sort()).toEqual(
      ['Upstream-<name>', ...Object.keys(responseHeaders).filter((name) => name.startsWith('Upstream-'))].sort(),
    ),
  'member of an endpoint | effect': (table) => expectMembers(table, endpoint),
  'member of a parameter | effect': (table) => expectMembers(table, parameter),
  'upstream | agent': ({ rows }) => {
    for (const [statuses = '', refusal = ''] of rows)
      for (const [status] of statuses.matchAll(/\d\d\d|\dxx/g)) {
        expect([status, refusalOf(Number(status.replace('xx', '18')))]).toEqual([status, expect.stringMatching(/^\d{3} `\w+`$/)]);
        expect(refusal).toContain(refusalOf(Number(status.replace('xx', '18'))));
      }
  },
  'command | what it does': ({ rows }) => {
    const commands = rows.flatMap(([cell = '']) => {
      const [first = '', ...others] = codeIn(cell);
      const group = first.includes(' ') && others.every((name) => !name.includes(' ')) ? first.slice(0, first.lastIndexOf(' ') + 1) : '';
      return [first, ...others.map((name) => group + name)];
    });
    expect(commands.sort()).toEqual(listCommands(createProgram()).sort());
  },
  'status | meaning': (table) =>
    expect(firstCells(table).flatMap(codeIn)).toEqual(executionState.options.map(({ shape }) => shape.status.value)),
  'exit code | meaning': (table) => expect(firstCells(table).map(Number)).toEqual(Object.values(exitCodes)),
  'intent | from': (table) => {
    const members = Object.keys(intentInput.shape);
    expect(
      firstCells(table)
        .flatMap(codeIn)
        .filter((name) => !members.includes(name)),
    ).toEqual([]);
  },
  'tool | does | hints': ({ rows }) => {
    const tools = openTools({} as Parameters<typeof openTools>[0], {
      findPolicy: openPolicy(),
      isFreshRequired: false,
      isSignInOffered: false,
    });
    expect(rows.map(([name, , hints]) => [name, hints === 'reads only'])).toEqual(
      tools.map(({ name, annotations }) => [`\`${name}\``, annotations.readOnlyHint]),
    );
  },
  'left operand | operators | right operand': ({ rows }) => {
    const named = Map.groupBy(rows, ([left = '']) => codeIn(left)[0] ?? '');
    for (const [left, same] of named) {
      const operators = same.flatMap(([, cell = '']) => codeIn(cell));
      const taken = comparisons.filter((operator) => takesCondition(left, operator));
      expect([left, ...operators.sort()]).toEqual([left, ...taken.sort()]);
    }
  },
  'parameter | an intent passes when': (table) =>
    expect(firstCells(table).flatMap(codeIn).sort()).toEqual(Object.keys(searchQuery.shape).sort()),
  'setting | what it does': (table) => {
    const names = describeSettings().map(({ name }) => name);
    expect(
      firstCells(table)
        .flatMap(codeIn)
        .filter((name) => !names.includes(name)),
    ).toEqual([]);
  },
  'request | reads | writes | new items | signatures | kB | kB, compressed | what bounds it': 'test/e2e/anonymous-costs.check.ts',
  'attack | defence | test': 'test/e2e/anonymous-costs.check.ts',
  'planted bug | tries until it was caught': 'test/world/explore.test.ts',
  'environment variable | meaning': (table) => {
    const help: string[] = [];
    createProgram()
      .configureOutput({ writeOut: (text) => help.push(text) })
      .outputHelp();
    const names = table.rows.flatMap(([cell = '']) => codeIn(cell));
    expect(names.filter((name) => !help.join('').split(/\W+/).includes(name))).toEqual([]);
  },
  'way | if | the host': 'test/e2e/mcp/mcp-approvals.check.ts',
  'alarm | what to do': 'test/lib/template.check.ts',
  'claim of a receipt | meaning': (table) => expect(firstCells(table).flatMap(codeIn)).toEqual(Object.keys(receiptClaims.shape)),
  'path | content': (table) => {
    const paths = endpoints.flatMap(({ path, furtherPaths = [] }) => [path, ...furtherPaths.map((other) => other.path)]);
    expect(firstCells(table).flatMap(codeIn)).toEqual(paths.filter((path) => path.startsWith('/log/')));
  },
  '`receipt verify` says | what to do': (table) => {
    const messages = textOf('client/receipts.ts') + textOf('functions/receipts/proofs.ts');
    expect(firstCells(table).filter((text) => !messages.includes(text))).toEqual([]);
  },
  'file | what to add': ({ rows: [[errors = ''] = [], ...others] }) => {
    expect(codeIn(errors)).toEqual(['schemas/errors.ts']);
    for (const file of others.flatMap(([files = '']) => codeIn(files))) expect(textOf(file)).toMatch(/TOO_MANY_REQUESTS|429/);
  },
  'after | what ends | the agent gets | stored under the key': (table) => {
    const milliseconds = (file: string, name: string) =>
      Number(
        textOf(file)
          .split(`${name} = `)[1]
          ?.match(/^[\d_]+/)?.[0]
          .replace('_', ''),
      );
    const connecting = milliseconds('functions/core/relay/call.ts', 'connectTimeoutMs');
    const calling = milliseconds('functions/core/relay/call.ts', 'maxDeadlineMs');
    const asking = milliseconds('functions/connections/issuer-transport.ts', 'timeoutMs');
    const discovering = milliseconds('functions/mcp-upstreams/sessions.ts', 'discoveryMs');
    const answering = milliseconds('functions/core/http/serve.ts', 'answeringMs');
    const timed = firstCells(table).filter((cell) => /^\d/.test(cell));
    expect(timed.map((cell) => Number.parseFloat(cell) * 1_000)).toEqual([
      connecting,
      asking,
      discovering,
      calling,
      29_000 - answering,
      29_000,
    ]);
  },
  '`outcome` | what to do': (table) => {
    const outcomes = ['functions/core/relay/call-failure.ts', 'functions/core/relay/answer.ts'].flatMap((file) =>
      [...textOf(file).matchAll(/outcome: '(\w+)'/g)].map(([, outcome]) => outcome),
    );
    expect(firstCells(table).flatMap(codeIn).sort()).toEqual([...new Set(outcomes)].sort());
  },
  'part | fixed | per million executions | why': ({ rows }) => {
    const { executionMemoryMb } = parseSettings({});
    for (const [part, fixed, rate, why = ''] of rows) {
      const [isFixed, sum] = [/keys at|alarms at|admins at/.test(why), listedCost(why)];
      if (sum > 0) expect([part, Math.abs(sum - Number(isFixed ? fixed : rate)) < 0.01]).toEqual([part, true]);
      if (part !== 'Lambda') continue;
      const [, searches] = /([\d.]+) for searches and PATs/.exec(why) ?? [];
      expect((dollarsPerMillion(executionMemoryMb, executionMs, 0.3) + Number(searches)).toFixed(2)).toBe(rate);
      expect(why).toContain(`[${executionMemoryMb} MB](#memory)`);
    }
    expect(rows.filter(([, , , why = '']) => listedCost(why) > 0)).toHaveLength(5);
  },
  'example | how | month': ({ rows }) => {
    const parts = tables.find(({ head }) => head.startsWith('part | fixed'));
    const { fixed, rate } = costTotals(parts as Table);
    for (const [name, how = '', month] of rows) {
      const [, millions = '0'] = /^(\d+) million/.exec(how) ?? [];
      const [sum = ''] = /\d+\.\d(?: \+ \d+\.\d)*/.exec(how) ?? [];
      const [first, metrics, traffic, ...others] = sum.split(' + ').map(Number);
      expect([name, first]).toEqual([name, Number(fixed.toFixed(1))]);
      expect([name, traffic]).toEqual([name, millions === '0' ? undefined : Number((rate * Number(millions)).toFixed(1))]);
      const total = [first, metrics, traffic, ...others].reduce<number>((amount, one) => amount + (one ?? 0), 0);
      expect([name, Math.round(Number(total.toFixed(1)))]).toEqual([name, Number(month)]);
      if (!how.includes('receipts=keyed')) continue;
      const options = tables.find(({ head }) => head === 'part | month') as Table;
      const costOf = (option: string) => options.rows.find(([cell = '']) => cell.startsWith(option))?.[1] ?? '';
      const [, ofKeys, perMillion] = /^([\d.]+) .*; ([\d.]+) per million/.exec(costOf('`receipts=keyed`')) ?? [];
      const [, ofEndpoints] = /: ([\d.]+)/.exec(costOf('`vpc`')) ?? [];
      const [, services] = /(\d+) more services/.exec(how) ?? [];
      expect(others).toEqual(
        [Number(ofKeys) + Number(perMillion) * Number(millions), Number(ofEndpoints), Number(services) * 0.4].map((amount) =>
          Number(amount.toFixed(1)),
        ),
      );
      expect(Number(ofEndpoints)).toBeCloseTo(4 * 2 * 0.01 * 730);
    }
  },
  'memory | the gate adds | 0.1 s | 0.3 s | 1 s': ({ rows, head }) => {
    const seconds = head.split(' | ').slice(2).map(Number.parseFloat);
    for (const [memory = '', added, ...amounts] of rows) {
      const memoryMb = Number.parseInt(memory.replace(',', ''), 10);
      expect([memory, added]).toEqual([memory, `${Math.round((executionMs * 1_769) / memoryMb)} ms`]);
      expect(amounts).toEqual(seconds.map((upstream) => dollarsPerMillion(memoryMb, executionMs, upstream).toFixed(2)));
    }
  },
  'MCP server | what the gate makes of it': 'test/functions/mcp-upstreams/relay.test.ts',
  'work | processor | memory at most': ({ rows }) => {
    expect(rows[0]?.[1]).toBe(`${executionMs} ms`);
    const { executionMemoryMb } = parseSettings({});
    for (const [work, , memory = ''] of rows) expect([work, Number.parseInt(memory, 10) < executionMemoryMb]).toEqual([work, true]);
  },
  'part | month': (table) => {
    const { executionMemoryMb } = parseSettings({});
    const perSecond = dollarsPerMillion(executionMemoryMb, 0, 1) - dollarsPerMillion(executionMemoryMb, 0, 0);
    expect(table.rows).toContainEqual(['slower services', `${(0.3 * perSecond).toFixed(2)} per million for each additional 0.3 seconds`]);
    const known = describeSettings().map(({ name }) => name);
    const named = firstCells(table).flatMap(codeIn);
    expect(named.map((name) => name.split('=')[0]).filter((name) => !known.includes(String(name)))).toEqual([]);
  },
  'command | 1,200 operations | before | 10,000 operations | before': (table) => {
    const [, commands = ''] = /const commands[^{]*\{(.*?)\};/s.exec(textOf('tools/bench/import.ts')) ?? [];
    expect(firstCells(table)).toEqual([...commands.matchAll(/^ +'?([a-z ]+)'?: \[/gm)].map(([, name]) => name));
    expect(table.rows.flat().filter((cell) => !/^[a-z ]+$|^[\d.]+ \([\d.]+\), \d+ MB$/.test(cell))).toEqual([]);
  },
  'term | meaning': ({ rows }) => {
    expect(rows.length).toBeLessThanOrEqual(30);
    const rest = pages
      .filter((page) => page !== 'docs/README.md')
      .map(textOf)
      .join('\n')
      .toLowerCase();
    expect(rows.filter(([term = '']) => !rest.includes(term.toLowerCase())).map(([term]) => term)).toEqual([]);
  },
};

test.each(tables.filter(({ page }) => !isWritten(page)))('$page: the table "$head" is tested', (table) => {
  const check = checks[table.head];
  if (typeof check === 'string') expect(existsSync(check)).toBe(true);
  else {
    expect(check).toBeDefined();
    check?.(table);
  }
});

test('every check has its table', () => {
  const heads = tables.map(({ head }) => head);
  expect(Object.keys(checks).filter((head) => !heads.includes(head))).toEqual([]);
});

test('the documentation is no longer than its readers have time for', () => {
  const prose = pages.flatMap((page) => textOf(page).split('\n')).filter((line) => !line.startsWith('|'));
  expect(prose.join('\n').match(/\S+/g)?.length).toBeLessThanOrEqual(maxWords);
});

test('every file that the documentation names is there', () => {
  // the tests that security.md names are looked for by test/e2e/anonymous-costs.check.ts
  const named = pages
    .filter((page) => page !== 'docs/security.md')
    .flatMap((page) =>
      [...textOf(page).matchAll(/`((?:\.ci|bin|client|functions|lib|samples|schemas|test)\/[\w./-]+)`/g)].map(([, path = '']) => path),
    );
  expect(named.length).toBeGreaterThan(50);
  const example = /stats\b|^lib\/endpoints\/services\.ts$/;
  expect(named.filter((path) => !existsSync(path) && !example.test(path))).toEqual([]);
});

test('every script that the documentation names is there', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
  const named = pages.flatMap((page) => [...textOf(page).matchAll(/npm run (?:--silent )?([a-z][\w:-]*)(?: -- (?:([a-z]+)\b)?)?/g)]);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(([, script = '']) => scripts[script] === undefined).map(([text]) => text)).toEqual([]);
  const benchmarks = named.flatMap(([, script, name]) => (script === 'bench' && name !== undefined ? [`tools/bench/${name}.ts`] : []));
  expect(benchmarks.filter((path) => !existsSync(path))).toEqual([]);
});

test('where a status and a code stand together, they belong together', () => {
  const pairs = pages.flatMap((page) => [
    ...textOf(page).matchAll(/\b([45]\d\d) `?([A-Z]+(?:_[A-Z]+)+|FORBIDDEN|UNAUTHORIZED|CONFLICT)\b/g),
  ]);
  const statusesOf = ({ status, meaning }: { status: number; meaning: string }) => [
    status,
    ...(meaning.match(/\b\d{3}\b/g) ?? []).map(Number),
  ];
  const known = new Map(Object.entries(errorTable).map(([code, row]) => [code, statusesOf(row)]));
  expect(pairs.length).toBeGreaterThan(20);
  expect(pairs.filter(([, status, code = '']) => !known.get(code)?.includes(Number(status))).map(([pair]) => pair)).toEqual([]);
});

describe('links', () => {
  const sources = [
    ...pages,
    ...globSync(['client/**/*.md', 'samples/**/*.md', 'SECURITY.md', 'CHANGELOG.md']).filter((page) => !page.includes('node_modules')),
  ];
  /** As GitHub names the headings of a page. */
  const anchorsOf = (page: string): string[] =>
    [
      ...textOf(page)
        .replaceAll(/^```.*?^```/gms, '')
        .matchAll(/^#+ (.+)$/gm),
    ].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );

  test.each(sources)('the links of %s lead somewhere', (page) => {
    const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)].map(([, link = '', image = '']) => link || image);
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });
    expect(broken).toEqual([]);
  });
});

test('every endpoint of the specification has its row', () => {
  expect(endpoints.flatMap(({ specRow }) => specRow ?? []).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 13 }, (_, index) => index + 1),
  );
});
