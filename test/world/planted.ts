// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are lines of the sources
import { readFileSync } from 'node:fs';
import type { Change } from './plant.ts';

/** A bug of one line, and what has to notice it. Missing conditions are none of these: each condition is left out in turn anyway. */
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
    name: 'only the first of several limits is asked',
    file: counter,
    line: "          ['<=', ['w', id, totalAt], isMoved ? rate : rate - cost],\n",
    becomes: "          ...(charge === charges[0] ? [['<=', ['w', id, totalAt], isMoved ? rate : rate - cost]] : []),\n",
    caughtBy: 'two limits in one counter',
  },
  {
    name: 'a counter is replaced whatever has been counted meanwhile',
    file: counter,
    line: "{ when: [seen === undefined ? ['absent', 'pk'] : isUnchanged(seen)] }",
    becomes: '{ when: seen === undefined ? [] : [isUnchanged(seen)] }',
    caughtBy: 'three calls, a limit of two',
  },
  {
    name: 'a call that is sent again is counted again',
    file: counter,
    line: "[...changes.flatMap((change) => change.when), ['lacks', 'l', token] as const]",
    becomes: 'changes.flatMap((change) => change.when)',
    caughtBy: 'three calls, a limit of three',
  },
  {
    name: 'only the newest of the tokens is looked at',
    file: 'functions/core/limit/rate-limiter.ts',
    line: 'isCounted = item?.last.includes(token);',
    becomes: 'isCounted = item?.last[0] === token;',
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
    name: 'an execution does not recognise its own key',
    file: calls,
    line: "      if (held?.execution_id === request.executionId) return { state: 'started' };\n",
    becomes: '',
    caughtBy: 'execute under one idempotency key',
  },
  {
    name: 'a call that failed without being sent keeps its key',
    file: 'functions/core/execution/once.ts',
    line: 'if (!mayHaveActed) await calls.abandon(keyed);',
    becomes: 'if (!mayHaveActed) mayHaveActed;',
    caughtBy: 'a refusal under an idempotency key',
  },
  {
    name: 'whoever fails gives up the key of another',
    file: calls,
    line: 'table.delete(keys.call(account, key), { when: isOwn(executionId) })',
    becomes: "table.delete(keys.call(account, key), { when: [['=', 'state', 'running']] })",
    caughtBy: 'a refusal under an idempotency key',
  },
  {
    name: 'another key may take an agent_id',
    file: `${core}/activity/bind.ts`,
    line: ' || isOther || ',
    becomes: ' || ',
    caughtBy: 'two keys for one agent_id',
  },
  {
    name: 'a block does not hold for the key',
    file: `${core}/activity/agent-changes.ts`,
    line: '          ...(key === undefined ? [] : onKey(key)),\n',
    becomes: '',
    caughtBy: 'revoke and block beside issue and use',
  },
  {
    name: 'a revocation keeps the generation',
    file: `${core}/activity/agent-changes.ts`,
    line: 'const revoked = { generation: newUlid(), ',
    becomes: 'const revoked = { generation: agent.generation, ',
    caughtBy: 'revoke and block beside issue and use',
  },
  {
    name: 'a block that came later is lifted',
    file: `${core}/activity/agent-changes.ts`,
    line: 'seen ??= agent?.block;',
    becomes: 'seen = agent?.block;',
    caughtBy: 'unblock beside unblock and block',
  },
  {
    name: 'who is issued a PAT goes on waiting',
    file: `${core}/activity/bind.ts`,
    line: '    ...endWaiting(agentId, thumbprint, wait, isWaiting),\n',
    becomes: '',
    caughtBy: 'request for approval beside issue',
  },
  {
    name: 'who has to make room in the queue goes on waiting',
    file: `${core}/activity/waiting-agents.ts`,
    line: '    ...(displaced ? leave(displaced) : []),\n',
    becomes: '',
    caughtBy: 'requests for approval when the queue is full',
  },
  {
    name: 'a deferred call may be claimed twice',
    file: `${core}/execution/deferred-calls.ts`,
    line: "    ['=', 'state', from],\n",
    becomes: '',
    caughtBy: 'waiting call approved, its worker started three times',
  },
  {
    name: 'a worker takes the claim of another one for its own',
    file: `${core}/execution/deferred-calls.ts`,
    line: 'held?.execution_id === call.executionId && held.run === run;',
    becomes: 'held?.execution_id === call.executionId;',
    caughtBy: 'waiting call approved, its worker started three times',
  },
  {
    name: 'a denied call is made',
    file: `${core}/approvals/approvals.ts`,
    line: ": ({ state: 'denied' } as const);",
    becomes: ": ({ state: 'queued' } as const);",
    caughtBy: 'waiting call approved beside a denial',
  },
  {
    name: 'an approved call is made with the intent as it is by now',
    file: `${core}/execution/deferred-run.ts`,
    line: "    if (digestIntent(resolved.intent) !== content.intentDigest) throw noLongerHolds('The intent has changed');\n",
    becomes: '',
    caughtBy: 'waiting call approved beside a change of the intent',
  },
  {
    name: 'an approved call is made for a blocked agent',
    file: `${core}/execution/resolve.ts`,
    line: '      requireNotStopped(toAgentRecords(others), claims);\n',
    becomes: '',
    caughtBy: 'waiting call approved beside a block',
  },
  {
    name: 'two calls wait at one place',
    file: `${core}/execution/waiting-places.ts`,
    line: 'place.among_own), ...taken }, when },',
    becomes: 'place.among_own), ...taken } },',
    caughtBy: 'waiting calls when one place is left',
  },
  {
    name: 'a jti that was sent again does not recognise itself',
    file: `${core}/activity/used-jti.ts`,
    line: "['any', ['absent', 'pk'], ['=', 'by', by]]",
    becomes: "['absent', 'pk']",
    caughtBy: 'one signed policy three times',
  },
  {
    name: 'a beginning that was sent again does not recognise itself',
    file: `${core}/activity/refresh-tokens.ts`,
    line: "['any', ['absent', 'pk'], ['=', 'current', current]]",
    becomes: "['absent', 'pk']",
    caughtBy: 'a code, a refresh token and a description of a client, each used once',
  },
  {
    name: 'a rotation that was sent again does not recognise itself',
    file: `${core}/activity/refresh-tokens.ts`,
    line: "['any', ['=', 'current', digest], ['=', 'current', next]]",
    becomes: "['=', 'current', digest]",
    caughtBy: 'a code, a refresh token and a description of a client, each used once',
  },
  {
    name: 'a turn that was sent again does not recognise itself',
    file: `${core}/activity/sign-ins.ts`,
    line: "['<=', 'expires_at', now], ['=', 'reading_by', by]]",
    becomes: "['<=', 'expires_at', now]]",
    caughtBy: 'a code, a refresh token and a description of a client, each used once',
  },
  {
    name: 'a change that is tried again is not worked out again',
    file: `${core}/registry/change-log.ts`,
    line: 'const planned = await plan(read);',
    becomes: 'const planned = (plan.first ??= await plan(read));',
    caughtBy: 'two replace one intent',
  },
  {
    name: 'a change counts as made though nobody answered',
    file: `${core}/registry/change-log.ts`,
    line: 'if (!(error instanceof ApiError) || digestOf((await find(entry.seq)) ?? null) !== digestOf(entry)) throw error;',
    becomes: '',
    caughtBy: 'a change of a service beside an intent of it',
  },
  {
    name: 'the change of another is taken for the own one',
    file: `${core}/registry/change-log.ts`,
    line: 'digestOf((await find(entry.seq)) ?? null) !== digestOf(entry)',
    becomes: '!(await find(entry.seq))',
    caughtBy: 'a change of a service beside an intent of it',
  },
  {
    name: 'a renamed service keeps its old name',
    file: `${core}/registry/services.ts`,
    line: '[putName(input.service_name, serviceId), deleteName(seen.service_name, serviceId)]',
    becomes: '[putName(input.service_name, serviceId)]',
    caughtBy: 'the name between two renames',
  },
  {
    name: 'a service that is deleted keeps its name',
    file: `${core}/registry/services.ts`,
    line: '              deleteName(seen.service_name, serviceId),\n              ...countInNamespace',
    becomes: '              ...countInNamespace',
    caughtBy: 'create, rename and delete around one name',
  },
  {
    name: 'what a service counts is written over',
    file: `${core}/registry/services.ts`,
    line: "(['rev', 'intents', 'drafts'] as const)",
    becomes: "(['rev'] as const)",
    caughtBy: 'a change of a service beside an intent of it',
  },
  {
    name: 'an intent is live without asking for its service',
    file: `${core}/registry/live-intents.ts`,
    line: '    if (!service) return read;\n    return { ...read, found: { intent, service: toServiceRecord(service as ServiceItem) }, beside };',
    becomes: '    return { ...read, found: { intent, service: toServiceRecord(service ?? {}) }, beside };',
    caughtBy: 'execution through the handler beside the delete of its service',
  },
  {
    name: 'an execution does not look at a pause',
    file: `${core}/execution/resolve.ts`,
    line: '        requireRunning(live);\n',
    becomes: '',
    caughtBy: 'execution through the handler beside a pause of its service',
  },
  {
    name: 'an intent is taken out of another service',
    file: `${core}/registry/intents.ts`,
    line: 'const isTaken = isHere || (seen !== undefined && live.has(seen.service_id));',
    becomes: 'const isTaken = isHere;',
    caughtBy: 'two creators of one uid',
  },
  {
    name: 'an intent is not counted',
    file: `${core}/registry/intents.ts`,
    line: 'add.length > 0',
    becomes: 'add.length > 1',
    caughtBy: 'the first two drafts of a service',
  },
  {
    name: 'an intent that becomes a draft stays in the list',
    file: `${core}/registry/intents.ts`,
    line: '    ...(isMoved ? [removed] : []),\n',
    becomes: '',
    caughtBy: 'an intent becomes a draft while it is deleted',
  },
  {
    name: 'a limit belongs to the agent_id instead of its key',
    file: 'functions/core/execution/execution.ts',
    line: 'countExecution(holder,',
    becomes: 'countExecution({ principal: claims.sub, account: claims.sub },',
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
    becomes: '    if (!mayBeSent) await quota.giveBack();\n',
    caughtBy: 'executions through the handler with a budget, lost, lost, live',
  },
  {
    name: 'a call that the upstream may have seen gives up its key',
    file: 'functions/core/execution/attempt.ts',
    line: "if (mayBeSent && failure?.outcome !== 'not_sent')",
    becomes: 'if (mayBeSent && failure?.outcome === undefined)',
    caughtBy: 'executions through the handler under one key, 2 callers, faults',
  },
  {
    name: 'an execution does not look at revocations',
    file: 'functions/core/execution/permission.ts',
    line: '  if (isRevoked(records.agent, claims))\n',
    becomes: '  if (isRevoked(records.agent, claims) && claims.exp === 0)\n',
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
    name: 'an intent is taken to be in the service that it was in before',
    file: `${core}/registry/live-intents.ts`,
    line: 'const isRight = needed.every(',
    becomes: 'const isRight = guessed.length > 0 || needed.every(',
    caughtBy: 'one uid in two services',
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
    file: `${core}/table/pages.ts`,
    line: 'start = lastKey;',
    becomes: 'start = lastKey && start;',
    caughtBy: 'search beside two writers',
  },
  {
    name: 'what an index could not read counts as seen',
    file: `${core}/search/sqlite/index-sync.ts`,
    line: '    await applyNow(source, index, names);\n    following.seen = seen;\n',
    becomes: '    following.seen = seen;\n    await applyNow(source, index, names);\n',
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
  {
    name: 'a private origin counts at any port of its host',
    file: 'functions/core/relay/egress.ts',
    line: 'one.protocol === other.protocol && one.hostname === other.hostname && one.port === other.port;',
    becomes: 'one.protocol === other.protocol && one.hostname === other.hostname;',
    caughtBy: 'addresses',
  },
  {
    name: 'a private origin may lead anywhere',
    file: 'functions/core/relay/egress.ts',
    line: "return kind === 'public' || isOnLocalNetwork(address);",
    becomes: 'return true;',
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
