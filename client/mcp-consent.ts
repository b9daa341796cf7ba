import { digestOf } from './canonical.ts';
import type { PolicyDeclined } from './errors.ts';
import { type Capabilities, canAsk, capabilitiesIn, type FormAnswer, type Message, refusalResult, revisionOf } from './mcp-messages.ts';
import { toPrintable } from './printable.ts';
import type { Policy } from './types.ts';

export interface McpConsentOptions {
  url: string;
  agentId: string;
  /** command that accepts the policy in a terminal */
  acceptCommand: string;
  /** sends a message to the host */
  send(message: object): void;
}

type Verdict = 'accept' | keyof typeof refusals;

const question = 'policy';

const maxAnswerMs = 600_000;

/** Maximum number of open questions; beyond that, the oldest is dropped. */
const maxOpen = 100;

/** A form with one optional field, because hosts show an empty form but cannot send it (MCP, "Elicitation"). */
const requestedSchema = { type: 'object', properties: { accept: { type: 'boolean', title: 'I accept this policy' } } };

/** Asks a person for consent in the host if possible, else refers them to a terminal. */
export function openMcpConsent({ url, agentId, acceptCommand, send }: McpConsentOptions) {
  /** digests of accepted policies */
  const accepted = new Set<string>();
  let capabilities: Capabilities | undefined;
  /** open questions, by id */
  const open = new Map<string, (verdict: Verdict) => void>();
  /** one question per policy digest, shared by concurrent calls */
  const asking = new Map<string, Promise<Verdict>>();
  /** the last answer per policy digest, with its sequence number */
  const answers = new Map<string, { verdict: Verdict; at: number }>();
  let answered = 0;
  /** policy digests by the single-use `requestState` of questions in results */
  const shown = new Map<string, string>();

  const words = ({ inWords, changes = [] }: PolicyDeclined): string =>
    toPrintable(
      [
        `The gate at ${url} lets an agent execute operations only under its usage policy. In its own words:`,
        ...inWords.map((sentence) => `- ${sentence}`),
        ...(changes.length > 0 ? ['Changes since the policy that was accepted before:', ...changes.map((one) => `- ${one}`)] : []),
        `Do you accept it, for every use by the agent ${agentId}? If so, it is signed with the key on this machine.`,
      ].join('\n'),
    );

  /** Asks by a request to the host, in revisions with a handshake. */
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

  /** Asks once per policy; concurrent calls share the question. */
  function askOnce(digest: string, message: string): Promise<Verdict> {
    const asked =
      asking.get(digest) ??
      request(message).then((verdict) => {
        if (verdict === 'accept') accepted.add(digest);
        answers.set(digest, { verdict, at: ++answered });
        asking.delete(digest);
        return verdict;
      });
    asking.set(digest, asked);
    return asked;
  }

  /** Asks in the result of the call, in revision 2026-07-28: the host repeats the call with the answer. */
  function questionResult(message: string, digest: string): object {
    const requestState = crypto.randomUUID();
    const [oldest] = shown.keys();
    if (shown.size >= maxOpen && oldest !== undefined) shown.delete(oldest);
    shown.set(requestState, digest);
    const inputRequests = { [question]: { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } } };
    return { resultType: 'input_required', inputRequests, requestState };
  }

  function readAnswer({ params }: Message): void {
    const { requestState = '', inputResponses } = params ?? {};
    const digest = shown.get(requestState);
    shown.delete(requestState);
    if (digest !== undefined && readVerdict(inputResponses?.[question]) === 'accept') accepted.add(digest);
  }

  return {
    isAccepted: async (policy: Policy) => accepted.has(await digestOf(policy)),

    /** Reads every message. @returns whether it was only an answer to a question */
    read(message: Message): boolean {
      const { id, method, result, error } = message;
      if (method === 'initialize') capabilities = capabilitiesIn(message);
      if (message.params?.requestState !== undefined) readAnswer(message);
      if (method !== undefined || (result === undefined && error === undefined)) return false;
      open.get(String(id))?.(result === undefined ? 'unasked' : readVerdict(result));
      return true;
    },

    /**
     * Starts a call: any answer given from now on counts for it, even if another call asked the question.
     * @returns a function that asks, and returns the call's result, or undefined once the policy is accepted
     */
    begin(call: Message) {
      const before = answered;
      return async (declined: PolicyDeclined): Promise<object | undefined> => {
        const response = call.params?.inputResponses?.[question];
        const given = readVerdict(response);
        if (response !== undefined && given !== 'accept') return refuse(declined, given);
        const digest = await digestOf(declined.policy);
        // the person may have accepted since the call was declined
        if (accepted.has(digest)) return undefined;
        if (revisionOf(call) !== undefined)
          return canAsk(capabilitiesIn(call)) ? questionResult(words(declined), digest) : refuse(declined, 'unasked');
        if (!canAsk(capabilities)) return refuse(declined, 'unasked');
        const last = answers.get(digest);
        const verdict = last && last.at > before ? last.verdict : await askOnce(digest, words(declined));
        return verdict === 'accept' ? undefined : refuse(declined, verdict);
      };
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

/** Messages to the model without consent, each followed by the accept command. */
const refusals = {
  unasked: {
    message: 'The person you work for has not accepted the current usage policy.',
    next: 'Show them this policy. They accept it in a terminal with the following command; then make the same call again.',
  },
  decline: {
    message: 'The person you work for does not accept the usage policy, so nothing was signed.',
    next: 'Do not use this gate. If they change their mind, they can accept the policy in a terminal with the following command.',
  },
  cancel: {
    message: 'The person you work for was asked whether they accept the usage policy, and did not decide.',
    next: 'Ask them whether to go on: the same call asks them again, or they accept the policy in a terminal with the following command.',
  },
};

/** Accepting without a value counts; some hosts then send null or an empty text. A field that says anything but yes does not count. */
function readVerdict(answer: FormAnswer | null | undefined): Exclude<Verdict, 'unasked'> {
  if (answer?.action === 'accept')
    return [undefined, null, '', true, 'true'].includes(answer.content?.accept as string) ? 'accept' : 'decline';
  return answer?.action === 'decline' ? 'decline' : 'cancel';
}
