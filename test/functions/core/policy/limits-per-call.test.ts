import { expect, test } from '@jest/globals';
import { compilePolicy } from '../../../../functions/core/policy/compile.ts';
import { fillTemplate, parsePolicyTemplate } from '../../../../functions/core/policy/template.ts';
import { issuesIn } from './policies.ts';

const intents = '{base_url}/api/intents';
const address = 'https://gate.example';
const limit = (rightOperand: number) => ({ leftOperand: 'rateLimit', operator: 'lteq', rightOperand, unit: 'P1D' });
const many = (count: number, rule: (at: number) => object) => Array.from({ length: count }, (_, at) => rule(at));
const permit = (target: string, ...constraint: object[]) => ({ target, action: 'execute', constraint });
const on = (leftOperand: string, rightOperand: unknown, operator = 'eq', unit?: string) => ({
  leftOperand,
  operator,
  rightOperand,
  ...(unit && { unit }),
});
const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

const compile = (permission: object[]) =>
  compilePolicy(fillTemplate(parsePolicyTemplate(JSON.stringify({ permission }), address), address), address);
const ninth = ['/permission/8/constraint/0'];

const ofAll = (count: number) => many(count, (at) => permit(intents, limit(at + 1)));
const inNamespace = (name: string) => permit(`${intents}?namespace=${name}.example`, limit(60));
const ofAmount = (...bounds: object[]) => permit(`${intents}/a.example:b:v1`, limit(60), ...bounds);
const hour = (operator: string, at: number) => on('timeOfDay', `${String(at).padStart(2, '0')}:00`, operator, 'Europe/Berlin');
const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'];
const from = (amount: number) => on('parameters/amount', amount, 'gteq');
const below = (amount: number) => on('parameters/amount', amount, 'lt');

test.each<[string, object[], string[]]>([
  ['64 of them', many(64, (at) => inNamespace(`n${at}`)), []],
  ['65 of them', many(65, (at) => inNamespace(`n${at}`)), ['/permission/64/constraint/0']],
  ['eight for everything, and one for a namespace', [...ofAll(8), inNamespace('n')], ninth],
  [
    'seven for everything, one for each of 25 intents',
    [...ofAll(7), ...many(25, (at) => permit(`${intents}/a.example:i${at}:v1`, limit(60)))],
    [],
  ],
  ['nine tags, which one intent may have', many(9, (at) => permit(intents, limit(60), on('tag', `tag ${at}`))), ninth],
  ['12 tags, too many to try all', many(12, (at) => permit(intents, limit(60), on('tag', `tag ${at}`))), ['/permission/11/constraint/0']],
  ['five methods, twice', many(10, (at) => permit(intents, limit(at + 1), on('method', methods[at % 5]))), []],
  ['32 keys', many(32, (at) => permit(intents, limit(60), on('agentKey', String(at).padStart(43, 'k')))), []],
  ['bands of an amount that do not meet', many(16, (at) => ofAmount(from(at * 10), below(at * 10 + 10))), []],
  ['bands of an amount that all hold', many(9, (at) => ofAmount(from(at))), ninth],
  ['large bands that all hold', many(9, (at) => permit(`${intents}/a.example:b:v1`, limit(at + 1), below(1e18))), ninth],
  ['large bands that do not meet', many(16, (at) => ofAmount(from(at * 1e17), below((at + 1) * 1e17))), []],
  ['times before a leap second', many(9, (at) => permit(intents, limit(at + 1), on('dateTime', '2031-12-31T23:59:60.5Z', 'lt'))), ninth],
  ['hours of a day in a zone', many(12, (at) => permit(intents, limit(60), hour('gteq', at), hour('lt', at + 1))), []],
  ['days of the week with two limits each', many(14, (at) => permit(intents, limit(at + 1), on('dayOfWeek', days[at % 7]))), []],
  ['nine of one day', many(9, (at) => permit(intents, limit(at + 1), on('dayOfWeek', 'monday'))), ninth],
])('a policy may put only so many limits on one call: %s', (_, permission, expected) => {
  expect(issuesIn(() => compile(permission)).map(({ path }) => path)).toEqual(expected);
});
