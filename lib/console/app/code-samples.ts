/** Programs that run an intent with these parameters, by the names of languages. */
export function listSamples(gateUrl: string, intentUid: string, parameters: Record<string, unknown>): Record<string, string> {
  const body = JSON.stringify({ intent_uid: intentUid, parameters });
  const given = JSON.stringify(parameters);
  return {
    curl: [
      `# PAT: a token for your key, as ${gateUrl}/docs explains`,
      `curl -s ${quote(`${gateUrl}/api/intents/execute`)} \\`,
      `  -H "Authorization: Bearer $PAT" -H 'Content-Type: application/json' \\`,
      `  -d ${quote(body)}`,
    ].join('\n'),
    TypeScript: [
      `import { connect } from 'intent-gate-client';`,
      '',
      `const gate = await connect(${JSON.stringify(gateUrl)}, {`,
      `  agentId: \`example-\${crypto.randomUUID()}\`,`,
      '  onPolicy: (policy, inWords) => confirm(inWords), // show it to somebody, and say whether they accept',
      '});',
      `console.log(await gate.execute(${JSON.stringify(intentUid)}, ${given}));`,
    ].join('\n'),
    Python: [
      'from intent_gate import IntentGate, Key',
      '',
      'gate = IntentGate(',
      `    ${JSON.stringify(gateUrl)},`,
      '    agent_id="example",',
      '    key=Key.at("agent.key"),',
      '    on_policy=lambda policy, in_words: confirm(in_words),  # show it to somebody, and say whether they accept',
      ')',
      `print(gate.execute(${JSON.stringify(intentUid)}, ${toPython(parameters)}))`,
    ].join('\n'),
    MCP: JSON.stringify(
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'execute_intent', arguments: { intent_uid: intentUid, parameters } } },
      null,
      2,
    ),
  };
}

/** A word of a POSIX shell. */
export const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** A value of JSON as Python writes it. */
export function toPython(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(toPython).join(', ')}]`;
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([name, member]) => `${JSON.stringify(name)}: ${toPython(member)}`)
      .join(', ')}}`;
  }
  return JSON.stringify(value);
}
