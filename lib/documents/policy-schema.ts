import * as z from 'zod';
import { type Comparison, comparisons } from '../../functions/core/policy/conditions.ts';
import { type operands, periodNames } from '../../functions/core/policy/constraints.ts';
import { operatorSynonyms } from '../../functions/core/policy/operators.ts';
import { periodSynonyms, synonyms } from '../../functions/core/policy/spellings.ts';
import { odrlContext } from '../../schemas/policy.ts';

/** One of several bare terms; editors show their meanings. */
const oneOf = (terms: Record<string, string>) =>
  z.union(Object.entries(terms).map(([term, meaning]) => z.literal(term).meta({ description: meaning })));

/** A URI, a prefixed name, or a URI that starts with the placeholder for the gate's address. */
const uri = z.string().regex(/^(\{base_url\}|[A-Za-z][A-Za-z0-9+.-]*:)/);

const text = z.string();

/** JSON-LD allows a name, an object with its `@id`, or a list of one of them. */
const referenceTo = (name: z.ZodType) => {
  const one = z.union([name, z.object({ '@id': name }), z.object({ uid: name })]);
  return z.union([one, z.array(one).length(1)]);
};

/** A bare term, or any URI. */
const term = (terms: Record<string, string>) => referenceTo(z.union([oneOf(terms), uri]));

/** JSON-LD does not distinguish a single value from a list of one. */
const oneOrMore = (one: z.ZodType) => z.union([z.array(one), one]);

/** The id and type of an object, which the gate ignores. */
const identity = { uid: text, type: referenceTo(text) };

const thing = (shape: z.ZodRawShape) => z.strictObject({ ...shape, ...identity }).partial();

const operandMeanings: Record<(typeof operands)[number] | 'publicKey', string> = {
  rateLimit: 'The number of calls allowed in any period of the length given by the unit.',
  count: 'The total number of calls allowed.',
  dateTime:
    'When the call is made, compared with a date and time with an offset, or with the start of a day (in UTC unless it names an offset).',
  timeOfDay: 'The time of day, such as 09:00, in the time zone given by the unit, else UTC.',
  dayOfWeek: 'monday to sunday, in the time zone given by the unit, else UTC.',
  agentKey: "The RFC 7638 thumbprint of the agent's key.",
  agentDomain: 'The domain that the agent is verified for, such as bot.example.',
  method: "The HTTP method of the intent's endpoint.",
  tag: 'The tags of the intent.',
  service: 'The service of the intent: its service_id or its name.',
  publicKey: 'The key that the agent presents, in an obligation to sign.',
};

const comparisonMeanings: Record<Comparison, string> = {
  eq: 'is',
  neq: 'is not',
  gt: 'is above or after; in a prohibition, a limit',
  gte: 'is at least, or not before',
  lt: 'is below or before',
  lte: 'is at most, or not after; in a permission, a limit',
  within: 'is one of a list',
};

const renamed = (names: Record<string, string>, meanings: Record<string, string>) =>
  Object.fromEntries(Object.entries(names).map(([name, meant]) => [name, meanings[meant] ?? '']));

const operators = {
  ...Object.fromEntries(comparisons.map((name) => [name, comparisonMeanings[name]])),
  ...renamed(operatorSynonyms, comparisonMeanings),
};

const periodMeanings = Object.fromEntries(periodNames.map((name) => [name, `any ${name}, for rateLimit`]));

const units = { ...periodMeanings, ...renamed(periodSynonyms, periodMeanings), UTC: 'the time zone of timeOfDay or dayOfWeek' };

const zone = z
  .string()
  .regex(/^[A-Z][A-Za-z]+(\/[A-Z][\w+-]*)+$/)
  .meta({ description: 'a time zone, such as Europe/Berlin, for timeOfDay and dayOfWeek' });

const currency = z
  .string()
  .regex(/^[A-Z]{3}$/)
  .meta({ description: 'a currency, such as EUR' });

const parameter = z
  .string()
  .regex(/^parameters\/[^/]+$/)
  .meta({ description: 'a parameter of the intents in the target, such as parameters/amount' });

const constraint: z.ZodType = z.lazy(() =>
  thing({
    leftOperand: referenceTo(z.union([oneOf(operandMeanings), parameter, uri])).meta({ description: 'The value to compare.' }),
    operator: term({ ...operators, use: 'in an obligation to sign, the same as eq' }),
    rightOperand: z.unknown().meta({ description: 'The constant to compare it with; a list of constants for within.' }),
    unit: referenceTo(z.union([oneOf(units), zone, uri])),
    dataType: referenceTo(text),
    and: oneOrMore(constraint),
  }).meta({ description: 'A condition, or a limit of calls.' }),
);

/** An action: a name, or an object with refinements. */
const action = (terms: Record<string, string>) =>
  z.union([term(terms), thing({ value: term(terms), refinement: oneOrMore(constraint) })]).meta({ description: 'What the rule is about.' });

const intents = z.union([
  oneOf({ '{base_url}/api/intents': 'every intent' }),
  uri.meta({
    description: 'one intent: {base_url}/api/intents/<intent_uid>; those of a namespace: {base_url}/api/intents?namespace=<namespace>',
  }),
]);

const target = oneOrMore(z.union([referenceTo(intents), thing({ source: referenceTo(intents), refinement: oneOrMore(constraint) })])).meta({
  description: 'Which intents the rule covers.',
});

const assignee = oneOrMore(z.union([referenceTo(text), thing({ source: referenceTo(text) })])).meta({
  description: 'The agents to which the rule applies: a verified domain, key or agent id.',
});

const money = z.number().positive();

const duty = thing({
  action: action({
    pay: 'to pay for the permission',
    compensate: 'the same, as ODRL calls it',
    approve: 'to have a person approve each call; it has no other members',
  }),
  target: referenceTo(uri).meta({ description: 'Duties that name the same target share one budget.' }),
  amount: z
    .union([
      z.number().min(0).meta({ description: 'a price or fee, for display only' }),
      z.strictObject({ price: money, budget: money }).partial().meta({ description: 'the price of a call, and the budget that pays it' }),
    ])
    .meta({ description: "In the currency's main unit." }),
  unit: referenceTo(z.union([currency, uri])).meta({ description: 'The currency.' }),
  timeInterval: z
    .union([
      oneOf({ P1D: 'any day', P7D: 'any week', P1M: 'any month', P1Y: 'any year' }),
      z.string().regex(/^P(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?$/),
      z.object({ '@value': text }),
    ])
    .meta({ description: 'The period of a budget or fee.' }),
});

const permission = thing({
  target,
  assignee,
  action: action({ execute: 'to execute intents' }),
  constraint: oneOrMore(constraint),
  duty: oneOrMore(duty),
});

const prohibition = thing({
  target,
  assignee,
  action: action({ execute: 'to execute intents', exceedRateLimit: 'to exceed the stated limits' }),
  constraint: oneOrMore(constraint),
});

const obligation = thing({
  target: oneOrMore(referenceTo(uri)),
  assignee,
  action: action({ sign: 'to sign the policy', signPayload: 'the same', observeRateLimit: 'to stay within the stated limit' }),
  constraint: oneOrMore(constraint),
});

/** A policy file in all spellings that {@link ../../functions/core/policy/spellings.ts} reads. */
const policyFile = z
  .strictObject({
    $schema: text,
    '@context': z.union([z.literal(odrlContext), z.unknown()]),
    uid: referenceTo(uri),
    type: term({ Set: 'the usual type', Offer: 'an offer', Agreement: 'an agreement', Policy: 'the same as Set' }),
    profile: referenceTo(uri),
    target,
    assignee,
    permission: oneOrMore(permission).meta({ description: 'What agents may do. Nothing else is permitted.' }),
    prohibition: oneOrMore(prohibition).meta({ description: 'What agents must not do, whatever is permitted.' }),
    obligation: oneOrMore(obligation).meta({ description: 'What agents must do.' }),
  })
  .partial()
  .meta({ title: 'Policy of an Intent Gate', description: 'The usage policy that agents sign.' });

/** Prefixed and alternative member names are allowed but not suggested. */
const otherNames = `^(@|[a-z]+:|(${Object.keys(synonyms)
  .filter((name) => /^\w+$/.test(name))
  .join('|')})$)`;

/**
 * The JSON schema of policy files, with which editors complete bare terms and mark unknown names. It accepts more than the gate does; synthesis
 * decides. Draft 7 has the best editor support.
 */
export const policyFileSchema = (): object =>
  z.toJSONSchema(policyFile, {
    target: 'draft-7',
    io: 'input',
    reused: 'ref',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) jsonSchema.patternProperties = { [otherNames]: {} };
    },
  });
