// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are lines of the sources
import { readFileSync } from 'node:fs';
import type { Change } from './plant.ts';

/** A bug of one line, and what has to notice it. */
export interface PlantedBug {
  name: string;
  file: string;
  line: string;
  becomes: string;
  /** the scenario or trial that catches it */
  caughtBy: string;
}

const core = 'functions/core';
const calls = 'functions/core/execution/idempotent-call.ts';

const counter = 'functions/core/limit/counter-item.ts';

export const plantedBugs: PlantedBug[] = [
  {
    name: 'a call is counted though the limit is used up',
    file: counter,
    line: ' AND ${window}[${totalAt}] <= :most${at}`,',
    becomes: ' AND :most${at} = :most${at}`,',
    caughtBy: 'three calls, a limit of two',
  },
  {
    name: 'only the first of several limits is asked',
    file: counter,
    line: ' AND ${window}[${totalAt}] <= :most${at}`,',
    becomes: " AND ${at === 0 ? `${window}[${totalAt}] <= ` : ''}:most${at}${at === 0 ? '' : ` = :most${at}`}`,",
    caughtBy: 'two limits in one counter',
  },
  {
    name: 'a counter is replaced whatever has been counted meanwhile',
    file: counter,
    line: 'return table.put(item, seen === undefined ? isAbsent : isUnchanged(seen));',
    becomes: 'return table.put(item, seen === undefined ? {} : isUnchanged(seen));',
    caughtBy: 'three calls, a limit of two',
  },
  {
    name: 'a call that is sent again is counted again',
    file: counter,
    line: ", 'NOT contains(l, :token)'].join(' AND ')",
    becomes: "].join(' AND ')",
    caughtBy: 'three calls, a limit of three',
  },
  {
    name: 'only the newest of the tokens is looked at',
    file: 'functions/core/limit/rate-limiter.ts',
    line: 'const isCounted = item?.last.includes(token);',
    becomes: 'const isCounted = item?.last[0] === token;',
    caughtBy: 'three calls, a limit of two',
  },
  {
    name: 'a call is made however long ago it was counted',
    file: 'functions/core/limit/rate-limiter.ts',
    line: 'isInTime(request, admitted.buckets) ? admitted : count(request, admitted.buckets);',
    becomes: 'isInTime(request, admitted.buckets) ? admitted : admitted;',
    caughtBy: 'three calls that are made long after they were counted, a limit of two',
  },
  {
    name: 'a call that is moved stays where it was, too',
    file: counter,
    line: 'add(from, -cost);',
    becomes: 'if (from === undefined) add(from, -cost);',
    caughtBy: 'three calls that are made long after they were counted, a limit of two',
  },
  {
    name: 'a call that is made late is counted twice',
    file: 'functions/core/limit/rate-limiter.ts',
    line: 'isInTime(request, admitted.buckets) ? admitted : count(request, admitted.buckets);',
    becomes: 'isInTime(request, admitted.buckets) ? admitted : count(request);',
    caughtBy: 'three calls that are made long after they were counted, a limit of two',
  },
  {
    name: 'a key is taken without asking whether it is free',
    file: calls,
    line: 'if (await table.put(item, isFree))',
    becomes: 'if (await table.put(item))',
    caughtBy: 'execute under one idempotency key',
  },
  {
    name: 'an execution does not recognise its own key',
    file: calls,
    line: "      if (held?.execution_id === executionId) return { state: 'started' };\n",
    becomes: '',
    caughtBy: 'execute under one idempotency key',
  },
  {
    name: 'a call that failed without being sent keeps its key',
    file: 'functions/core/execution/once.ts',
    line: 'if (!isSent) await calls.abandon(keyed);',
    becomes: 'if (!isSent) isSent;',
    caughtBy: 'a refusal under an idempotency key',
  },
  {
    name: 'whoever fails gives up the key of another',
    file: calls,
    line: "condition: 'execution_id = :own AND #state = :running'",
    becomes: "condition: '#state = :running AND attribute_exists(execution_id) AND :own = :own'",
    caughtBy: 'a refusal under an idempotency key',
  },
  {
    name: 'another key may take an agent_id',
    file: `${core}/activity/agent.ts`,
    line: "[\n          'attribute_not_exists(#block) AND (attribute_not_exists(#thumbprint) OR #thumbprint = :thumbprint)'",
    becomes: "[\n          'attribute_not_exists(#block)'",
    caughtBy: 'two keys for one agent_id',
  },
  {
    name: 'a blocked agent may be bound',
    file: `${core}/activity/agent.ts`,
    line: "[\n          'attribute_not_exists(#block) AND (attribute_not_exists(#thumbprint) OR #thumbprint = :thumbprint)'",
    becomes: "[\n          '(attribute_not_exists(#thumbprint) OR #thumbprint = :thumbprint)'",
    caughtBy: 'revoke and block beside issue and use',
  },
  {
    name: 'a block does not hold for the key',
    file: `${core}/activity/agent.ts`,
    line: '        await blockKey(thumbprint, blocked.block);\n',
    becomes: '',
    caughtBy: 'revoke and block beside issue and use',
  },
  {
    name: 'a revocation keeps the generation',
    file: `${core}/activity/agent.ts`,
    line: "UpdateExpression: 'SET #generation = :generation, #revoked_at = :now'",
    becomes: "UpdateExpression: 'SET #generation = if_not_exists(#generation, :generation), #revoked_at = :now'",
    caughtBy: 'revoke and block beside issue and use',
  },
  {
    name: 'a jti may be taken twice',
    file: `${core}/activity/used-jti.ts`,
    line: "'attribute_not_exists(pk) OR #by = :by'",
    becomes: "'attribute_not_exists(pk) OR #by = :by OR attribute_exists(pk)'",
    caughtBy: 'one signed policy three times',
  },
  {
    name: 'a jti that was sent again does not recognise itself',
    file: `${core}/activity/used-jti.ts`,
    line: "'attribute_not_exists(pk) OR #by = :by'",
    becomes: "'attribute_not_exists(pk) OR #by = :by AND attribute_not_exists(#by)'",
    caughtBy: 'one signed policy three times',
  },
  {
    name: 'refresh tokens begin although their code was used again',
    file: `${core}/activity/refresh-tokens.ts`,
    line: "'attribute_not_exists(pk) OR #current = :current'",
    becomes: "'attribute_not_exists(pk) OR attribute_exists(pk)'",
    caughtBy: 'one code is used twice',
  },
  {
    name: 'a beginning that was sent again does not recognise itself',
    file: `${core}/activity/refresh-tokens.ts`,
    line: "'attribute_not_exists(pk) OR #current = :current'",
    becomes: "'attribute_not_exists(pk) OR #current = :current AND attribute_not_exists(#current)'",
    caughtBy: 'a code, a refresh token and a description of a client, each used once',
  },
  {
    name: 'a rotation that was sent again does not recognise itself',
    file: `${core}/activity/refresh-tokens.ts`,
    line: "'#current = :digest OR #current = :next'",
    becomes: "'#current = :digest AND NOT #current = :next'",
    caughtBy: 'a code, a refresh token and a description of a client, each used once',
  },
  {
    name: 'a turn that was sent again does not recognise itself',
    file: `${core}/activity/sign-ins.ts`,
    line: '#until <= :now OR #by = :by',
    becomes: '#until <= :now AND NOT #by = :by',
    caughtBy: 'a code, a refresh token and a description of a client, each used once',
  },
  {
    name: 'a name is claimed without asking whether it is free',
    file: `${core}/registry/service-name.ts`,
    line: "if (await table.put(pointer, { ConditionExpression: 'attribute_not_exists(pk)' })) return claim;",
    becomes: 'if (await table.put(pointer)) return claim;',
    caughtBy: 'two takers of a dead name',
  },
  {
    name: 'a dead claim is taken over whoever holds it by now',
    file: `${core}/registry/service-name.ts`,
    line: "      ConditionExpression: 'claim = :dead',\n",
    becomes: "      ConditionExpression: 'attribute_exists(pk) AND NOT_DEAD',\n".replace('NOT_DEAD', ':dead = :dead'),
    caughtBy: 'two takers of a dead name',
  },
  {
    name: 'whoever gives up a name gives up the claim of another',
    file: `${core}/registry/service-name.ts`,
    line: "{ ConditionExpression: 'claim = :mine', ExpressionAttributeValues: { ':mine': claim } }",
    becomes: "{ ConditionExpression: ':mine = :mine', ExpressionAttributeValues: { ':mine': claim } }",
    caughtBy: 'create, rename and delete around one name',
  },
  {
    name: 'a renamed service keeps its old claim',
    file: `${core}/registry/services.ts`,
    line: 'const nameClaim = isRenamed && claimed ? claimed : seen.name_claim;',
    becomes: 'const nameClaim = seen.name_claim;',
    caughtBy: 'the name between two renames',
  },
  {
    name: 'a service is written over whatever stands there',
    file: `${core}/registry/services.ts`,
    line: `        { ...keys.service(next.service_id), ...next },
        { ConditionExpression: 'rev = :seen', ExpressionAttributeValues: { ':seen': seen.rev } },`,
    becomes: '        { ...keys.service(next.service_id), ...next },',
    caughtBy: 'create, rename and delete around one name',
  },
  {
    name: 'a service is not announced to the search',
    file: `${core}/registry/services.ts`,
    line: "await Promise.all([announceChange(table, { rev, kind: 'service', id }), history.announce(by, change)]);",
    becomes: 'await history.announce(by, change);',
    caughtBy: 'create, rename and delete around one name',
  },
  {
    name: 'an intent is not announced to the search',
    file: `${core}/registry/intents.ts`,
    line: "await Promise.all([announceChange(table, { rev, kind: 'intent', id }), history.announce(by, change)]);",
    becomes: 'await history.announce(by, change);',
    caughtBy: 'delete of a service beside its intents',
  },
  {
    name: 'an intent stays although its service has gone meanwhile',
    file: `${core}/registry/intents.ts`,
    line: '        if (isLive(serviceNow)) {',
    becomes: '        if (serviceNow) {',
    caughtBy: 'delete of a service beside its intents',
  },
  {
    name: 'an intent is live without asking for its service',
    file: `${core}/registry/intents.ts`,
    line: '    if (!isLive(service)) return read;',
    becomes: '    if (!service) return read;',
    caughtBy: 'delete of a service beside its intents',
  },
  {
    name: 'an intent is written over whatever stands there',
    file: `${core}/registry/intents.ts`,
    line: "          : { ConditionExpression: 'rev = :seen', ExpressionAttributeValues: { ':seen': change.before_rev } },",
    becomes: '          : {},',
    caughtBy: 'two writers of one intent',
  },
  {
    name: 'a list counts an intent that another has taken out',
    file: `${core}/registry/members.ts`,
    line: "    ConditionExpression: '#pending.#uid = :mine',",
    becomes: "    ConditionExpression: 'attribute_exists(#pending) AND :mine = :mine',",
    caughtBy: 'one uid in two services',
  },
  {
    name: 'a list shows an intent of another service',
    file: `${core}/registry/members.ts`,
    line: 'if (record && listOf(record.service_id, record.draft) === list) live.set(record.intent_uid, record);',
    becomes: 'if (record) live.set(record.intent_uid, record);',
    caughtBy: 'one uid in two services',
  },
  {
    name: 'a limit belongs to the agent_id instead of its key',
    file: 'functions/core/execution/execution.ts',
    line: 'countExecution(holder,',
    becomes: 'countExecution({ thumbprint: claims.sub, account: claims.sub },',
    caughtBy: 'executions through the handler under two names of one key',
  },
  {
    name: 'a call is charged before its upstream is connected',
    file: 'functions/core/execution/attempt.ts',
    line: 'connected = await relay.connect(',
    becomes: 'await quota.charge();\n    connected = await relay.connect(',
    caughtBy: 'executions through the handler with a budget, dead, dead, live',
  },
  {
    name: 'a call whose connection is lost stays charged',
    file: 'functions/core/execution/attempt.ts',
    line: '    await quota.giveBack();\n',
    becomes: '    if (!isSent) await quota.giveBack();\n',
    caughtBy: 'executions through the handler with a budget, lost, lost, live',
  },
  {
    name: 'a call that the upstream may have seen gives up its key',
    file: 'functions/core/execution/attempt.ts',
    line: "if (isSent && failure?.outcome !== 'not_sent')",
    becomes: 'if (isSent && failure?.outcome === undefined)',
    caughtBy: 'executions through the handler under one key, 2 callers, faults',
  },
  {
    name: 'an execution does not look at revocations',
    file: 'functions/core/execution/permission.ts',
    line: '  if (isRevoked(standing.agent, claims))\n',
    becomes: '  if (isRevoked(standing.agent, claims) && claims.exp === 0)\n',
    caughtBy: 'execution through the handler beside a revocation',
  },
  {
    name: 'the jti of a signed policy is not used up',
    file: 'functions/issue-pat.ts',
    line: 'await requireFirstUse(signed, key, usedJtis);',
    becomes: '',
    caughtBy: 'issue through the handler of one signed policy',
  },
  {
    name: 'the jti of a proof is not used up',
    file: 'functions/core/execution/resolve.ts',
    line: 'useProof: async () => proof?.use(),',
    becomes: 'useProof: async () => {},',
    caughtBy: 'executions through the handler with one proof of possession',
  },
  {
    name: 'PATs are signed without a limit',
    file: 'functions/core/pat/issue.ts',
    line: '    if (!decision.isAdmitted) throw limitExceeded(',
    becomes: '    if (!decision.isAdmitted && settings.issueLimitPerHour === 0) throw limitExceeded(',
    caughtBy: 'issue through the handler beyond the limit',
  },
  {
    name: 'a write of a service does not recognise itself',
    file: `${core}/registry/services.ts`,
    line: '(await read(change.id))?.rev !== change.rev && (await history.withdraw(change))',
    becomes: '(await history.withdraw(change))',
    caughtBy: 'two writers and their history',
  },
  {
    name: 'an intent is taken to be in the service that it was in before',
    file: `${core}/registry/intents.ts`,
    line: 'intent.service_id === guess ? rest.at(-1)',
    becomes: 'guess ? rest.at(-1)',
    caughtBy: 'one uid in two services',
  },
  {
    name: 'an intent is counted by what its record said before others changed it',
    file: `${core}/registry/members.ts`,
    line: 'attribute_not_exists(#pending.#uid) AND ${isSame}`',
    becomes: 'attribute_not_exists(#pending.#uid)`',
    caughtBy: 'an intent is deleted twice',
  },
  {
    name: 'the search reads what may be old',
    file: `${core}/table/table.ts`,
    line: '        TableName: names[tableOf(pk)],\n        ConsistentRead: true,',
    becomes: '        TableName: names[tableOf(pk)],',
    caughtBy: 'search beside a rename',
  },
  {
    name: 'each page of the log is the first',
    file: `${core}/registry/change-log.ts`,
    line: 'if (items.length > 0) yield items.map(toEntry);\n        start = lastKey;',
    becomes: 'if (items.length > 0) yield items.map(toEntry);\n        start = lastKey && start;',
    caughtBy: 'search beside two writers',
  },
  {
    name: 'what an index could not read counts as seen',
    file: `${core}/search/sqlite/index-sync.ts`,
    line: '    index.apply([], deleted);',
    becomes: '    following.seen = seen;\n    index.apply([], deleted);',
    caughtBy: 'search beside a change of an intent',
  },
  {
    name: 'an index does not look at what changed while it was built',
    file: `${core}/search/sqlite/engine.ts`,
    line: 'return { index, seen };',
    becomes: 'return { index, seen: await source.head() };',
    caughtBy: 'search of a new index beside a change of an intent',
  },
  {
    name: 'a service that is renamed while an index is built is passed by',
    file: `${core}/search/sqlite/engine.ts`,
    line: 'const uids = await source.uidsOf(service.id);',
    becomes: 'const uids: string[] = [];',
    caughtBy: 'search of a new index beside a rename',
  },
  {
    name: 'an intent is found although its service has gone',
    file: `${core}/search/sqlite/search-index.ts`,
    line: 'for (const row of write.findMembers.all(serviceId) as IntentRow[]) removeIntent(row);',
    becomes: '',
    caughtBy: 'search beside a service that is deleted',
  },
  {
    name: 'another kind of token is a PAT',
    file: 'functions/core/pat/token.ts',
    line: "encode({ alg: 'ES256', typ: patType, kid })",
    becomes: "encode({ alg: 'ES256', kid })",
    caughtBy: 'tokens',
  },
  {
    name: 'what a call costs is not counted in its budget',
    file: counter,
    line: 'add(to, cost);',
    becomes: 'add(to, 0);',
    caughtBy: 'days',
  },
  {
    name: 'a token is good at the second in which it expires',
    file: 'functions/core/pat/verify.ts',
    line: 'if (claims.exp <= nowSeconds) throw expired();',
    becomes: 'if (claims.exp < nowSeconds) throw expired();',
    caughtBy: 'tokens',
  },
  {
    name: 'a token for another gate is good',
    file: 'functions/core/pat/verify.ts',
    line: 'if (claims.iss !== baseUrl || claims.aud !== baseUrl || claims.nbf > nowSeconds) throw notOurs();',
    becomes: 'if (claims.iss !== baseUrl || claims.nbf > nowSeconds) throw notOurs();',
    caughtBy: 'tokens',
  },
  {
    name: 'a token may be spelled in several ways',
    file: 'functions/core/pat/verify.ts',
    line: '|| header !== headerSegment(kid)) throw notOurs();',
    becomes: ') throw notOurs();',
    caughtBy: 'tokens',
  },
  {
    name: 'the shared address space is public',
    file: 'functions/core/relay/addresses.ts',
    line: "  { cidr: '100.64.0.0/10', name: 'shared address space', source: 'RFC 6598' },\n",
    becomes: '',
    caughtBy: 'addresses',
  },
  {
    name: 'calls may go without TLS',
    file: 'functions/core/relay/egress.ts',
    line: "return kind === 'public' && protocol === 'https:' && rules.ports.includes(port);",
    becomes: "return kind === 'public' && rules.ports.includes(port);",
    caughtBy: 'addresses',
  },
  {
    name: 'calls may go to any port',
    file: 'functions/core/relay/egress.ts',
    line: "return kind === 'public' && protocol === 'https:' && rules.ports.includes(port);",
    becomes: "return kind === 'public' && protocol === 'https:';",
    caughtBy: 'addresses',
  },
];

/**
 * The code with one bug.
 * @throws Error if its line is not there exactly once
 */
export function withBug({ name, file, line, becomes }: PlantedBug): Change {
  const source = readFileSync(file, 'utf8');
  if (source.split(line).length !== 2) throw new Error(`"${name}" cannot be planted: its line is not in ${file} exactly once.`);
  return { file, source: source.replace(line, () => becomes) };
}
