import { digestOf } from './canonical.ts';
import type { PolicyDeclined } from './errors.ts';
import { type Capabilities, canAsk, capabilitiesIn, type Message, refusalResult, revisionOf } from './mcp-messages.ts';
import { toPrintable } from './printable.ts';
import type { Policy } from './types.ts';

export interface McpConsentOptions {
  /** address of the gate */
  url: string;
  agentId: string;
  /** the command with which a person accepts the policy on a terminal */
  acceptCommand: string;
  /** sends the host a message that is not an answer */
  send(message: object): void;
}

/** How a person is asked whether the policy is accepted: in the host if it can ask, else on a terminal. */
export interface McpConsent {
  /** whether the person has accepted this policy in the host */
  isAccepted(policy: Policy): Promise<boolean>;
  /**
   * Looks for what concerns consent in a message from the host.
   * @returns whether the message was an answer to a question, and nothing else
   */
  read(message: Message): boolean;
  /**
   * Asks, because a call needs the policy to be accepted.
   * @returns the result of the call if it ends here, with a question or without consent; undefined if the policy is accepted now
   */
  ask(call: Message, declined: PolicyDeclined): Promise<object | undefined>;
  /** The host has gone: questions that are open are not answered any more. */
  close(): void;
}

type Verdict = 'accept' | keyof typeof refusals;

/** the name of the only question that is ever put */
const question = 'policy';

/** How long a question stays open in the host. */
const maxAnswerMs = 600_000;

/** How many questions may be open; the oldest is forgotten. */
const maxOpen = 100;

/** Nothing has to be filled in: to accept is the answer (MCP, "Elicitation"). */
const requestedSchema = { type: 'object', properties: {} };

export function openMcpConsent({ url, agentId, acceptCommand, send }: McpConsentOptions): McpConsent {
  /** digests of the policies that were accepted in the host */
  const accepted = new Set<string>();
  /** of the handshake */
  let capabilities: Capabilities | undefined;
  /** questions of this process, by their ids */
  const open = new Map<string, (verdict: Verdict) => void>();
  /** the question about each policy, by its digest: however many calls need it, it is put once */
  const asking = new Map<string, Promise<Verdict>>();
  /** the policies that questions within results are about, by the state that comes back with the answer, once */
  const shown = new Map<string, string>();

  const words = ({ inWords, changes = [] }: PolicyDeclined): string =>
    toPrintable(
      [
        `The gate at ${url} lets an agent execute operations only under its usage policy. In its own words:`,
        ...inWords.map((sentence) => `- ${sentence}`),
        ...(changes.length > 0 ? ['What is different from the policy that was accepted before:', ...changes.map((one) => `- ${one}`)] : []),
        `Do you accept it, for every use by the agent ${agentId}? If so, it is signed with the key on this machine.`,
      ].join('\n'),
    );

  /** Sends a request to the host, as revisions with a handshake allow. */
  function request(message: string): Promise<Verdict> {
    const id = `intent-gate-${crypto.randomUUID()}`;
    return new Promise((resolve) => {
      const end = (verdict: Verdict) => {
        clearTimeout(timer);
        open.delete(id);
        resolve(verdict);
      };
      const timer = setTimeout(end, maxAnswerMs, 'cancel');
      open.set(id, end);
      send({ jsonrpc: '2.0', id, method: 'elicitation/create', params: { message, requestedSchema } });
    });
  }

  /** Puts the question into the result of the call, which the host then repeats with the answer, as revision 2026-07-28 has it. */
  function questionResult(message: string, digest: string): object {
    const requestState = crypto.randomUUID();
    const [oldest] = shown.keys();
    if (shown.size >= maxOpen && oldest !== undefined) shown.delete(oldest);
    shown.set(requestState, digest);
    const inputRequests = { [question]: { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } } };
    return { resultType: 'input_required', inputRequests, requestState };
  }

  /** The answer that a repeated call brings along. */
  function readAnswer({ params }: Message): void {
    const { requestState = '', inputResponses } = params ?? {};
    const digest = shown.get(requestState);
    shown.delete(requestState);
    if (digest !== undefined && inputResponses?.[question]?.action === 'accept') accepted.add(digest);
  }

  return {
    isAccepted: async (policy) => accepted.has(await digestOf(policy)),

    read(message) {
      const { id, method, result, error } = message;
      if (method === 'initialize') capabilities = capabilitiesIn(message);
      if (message.params?.requestState !== undefined) readAnswer(message);
      if (method !== undefined || (result === undefined && error === undefined)) return false;
      open.get(String(id))?.(result === undefined ? 'unasked' : readAction(result.action));
      return true;
    },

    async ask(call, declined) {
      const action = call.params?.inputResponses?.[question]?.action;
      if (action === 'decline' || action === 'cancel') return refuse(declined, action);
      const digest = await digestOf(declined.policy);
      if (revisionOf(call) !== undefined)
        return canAsk(capabilitiesIn(call)) ? questionResult(words(declined), digest) : refuse(declined, 'unasked');
      if (!canAsk(capabilities)) return refuse(declined, 'unasked');
      const asked = asking.get(digest) ?? request(words(declined)).finally(() => asking.delete(digest));
      asking.set(digest, asked);
      const verdict = await asked;
      if (verdict !== 'accept') return refuse(declined, verdict);
      accepted.add(digest);
      return undefined;
    },

    close() {
      for (const end of open.values()) end('cancel');
    },
  };

  function refuse({ code, inWords }: PolicyDeclined, verdict: keyof typeof refusals): object {
    const { message, next } = refusals[verdict];
    return refusalResult({
      code,
      message,
      details: { in_words: inWords, accept_command: acceptCommand },
      lines: inWords.map((sentence) => `- ${sentence}`),
      next: `${next}\n${acceptCommand}`,
    });
  }
}

/** What a model is told if there is no consent; the command follows. */
const refusals = {
  unasked: {
    message: 'The person whom you work for has not accepted the usage policy as it is now.',
    next: 'Show them this policy. They accept it on a terminal with the following command; then make the same call again.',
  },
  decline: {
    message: 'The person whom you work for does not accept the usage policy, so nothing was signed.',
    next: 'Do without this gate. If they change their mind, they accept the policy on a terminal with the following command.',
  },
  cancel: {
    message: 'The person whom you work for was asked whether they accept the usage policy, and did not decide.',
    next: 'Ask them whether to go on: the same call asks them again, or they accept the policy on a terminal with the following command.',
  },
};

const readAction = (action: unknown): Verdict => (action === 'accept' || action === 'decline' ? action : 'cancel');
