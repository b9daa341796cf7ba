import { quote } from '../../registry/shell-words.ts';
import { isRawNumber } from '../../schemas/number.ts';

/**
 * Sample programs that run an intent with these parameters, by language. They are adapted from the clients' READMEs and docs/agents.md; a test
 * compares and runs them.
 */
export function listSamples(gateUrl: string, intentUid: string, parameters: Record<string, unknown>): Record<string, string> {
  const given = { intent_uid: intentUid, parameters };
  const body = JSON.stringify(given);
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'execute_intent', arguments: given } });
  const preparation = `BASE_URL=${quote(gateUrl)}
# The usage policy. The next commands sign it with your key, so continue only if you agree.
curl -sS "$BASE_URL/api/policy?view=words"

${patCommands}`;
  return {
    curl: `${preparation}
curl -sS -i "$BASE_URL/api/intents/execute" -H "Authorization: Bearer $PAT" -H 'Content-Type: application/json' \\
  -H "Idempotency-Key: $(openssl rand -hex 16)" \\
  -d ${quote(body)}
`,
    TypeScript: `// The client is not in a registry. In your project, with a checkout of Intent Gate in $PROJECT:
//   npm pack "$PROJECT/client" --ignore-scripts=false && npm install ./intent-gate-client-*.tgz
import { connect, PolicyDeclined, Refusal } from 'intent-gate-client';

const gate = await connect(${JSON.stringify(gateUrl)}, {
  agentId: \`example-\${crypto.randomUUID()}\`,
  onPolicy: (policy, inWords) => {
    console.log(inWords.join('\\n'));
    const costs = (policy.permission ?? []).flatMap(({ duty = [] }) => duty.filter(({ action }) => !/approve$/.test(action)));
    if (costs.length > 0) console.error('This agent accepts no duty to pay:', costs);
    return costs.length === 0;
  },
});

try {
  console.log(await gate.execute(${JSON.stringify(intentUid)}, ${JSON.stringify(parameters)}));
} catch (error) {
  if (error instanceof PolicyDeclined) console.error('The policy asks for more than this agent may accept.');
  else if (error instanceof Refusal) console.error(error.code, error.message, error.issues);
  else throw error;
}
`,
    Python: `# The client is not in a registry. With a checkout of Intent Gate in $PROJECT:
#   python3 -m venv .venv && .venv/bin/pip install "$PROJECT/client/python"
import os
import tempfile

from intent_gate import IntentGate, Key, PolicyDeclined, Refusal

key = Key.at(os.path.join(tempfile.mkdtemp(), "agent.key"))  # a file of yours that stays


def on_policy(policy, in_words):
    print(*in_words, sep="\\n")
    duties = [duty for permission in policy.get("permission", []) for duty in permission.get("duty", [])]
    costs = [duty for duty in duties if not str(duty["action"]).endswith("approve")]
    for duty in costs:
        print("This agent accepts no duty to pay:", duty)
    return not costs


gate = IntentGate(${JSON.stringify(gateUrl)}, key.agent_id, key, on_policy)
try:
    print(gate.execute(${JSON.stringify(intentUid)}, ${toPython(parameters)}))
except PolicyDeclined:
    print("The policy asks for more than this agent may accept.")
except Refusal as error:
    print(error.code, error, error.issues)
`,
    MCP: `# For a host: npx intent-gate mcp --config ${gateUrl}
# By hand, the message that a host sends:
${preparation}
curl -sS "$BASE_URL/mcp" -H "Authorization: Bearer $PAT" -H 'Content-Type: application/json' \\
  -d ${quote(message)}
`,
  };
}

/** Shell commands that create a key, sign the policy and get a PAT. */
const patCommands = `(umask 077; mkdir -p ~/.intent-gate); KEY=~/.intent-gate/agent-rsa-key.pem; POLICY=$(mktemp)
test -f "$KEY" || openssl genrsa -out "$KEY" 2048
curl -sS "$BASE_URL/api/policy" -o "$POLICY"
base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
CLAIMS="\\"aud\\":\\"$BASE_URL\\",\\"iat\\":$(date +%s),\\"exp\\":$(($(date +%s) + 120)),\\"jti\\":\\"$(openssl rand -hex 16)\\""
SIGNED=$(echo "{\\"alg\\":\\"RS256\\",$CLAIMS}" | base64url).$(base64url < "$POLICY")
SIGNATURE=$SIGNED.$(printf %s "$SIGNED" | openssl dgst -sha256 -sign "$KEY" | base64url)
PUBLIC_KEY=$(openssl pkey -in "$KEY" -pubout | openssl base64 -A)
AGENT_ID=agent-$(printf %s "$PUBLIC_KEY" | openssl dgst -sha256 | sed 's/.* //' | cut -c1-12)
ANSWER=$(curl -sS "$BASE_URL/api/pat/issue" -H 'Content-Type: application/json' \\
  -d "{\\"agent_id\\":\\"$AGENT_ID\\",\\"signed_policy\\":\\"$SIGNATURE\\",\\"agent_public_key\\":\\"$PUBLIC_KEY\\"}")
PAT=$(echo "$ANSWER" | sed -n 's/.*"[a-z]*-pat":"\\([^"]*\\)".*/\\1/p')
: "\${PAT:?"$ANSWER"}"
`;

/** A JSON value as a Python literal. */
export function toPython(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (isRawNumber(value)) return value.rawJSON;
  if (Array.isArray(value)) return `[${value.map(toPython).join(', ')}]`;
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([name, member]) => `${JSON.stringify(name)}: ${toPython(member)}`)
      .join(', ')}}`;
  }
  return JSON.stringify(value);
}
