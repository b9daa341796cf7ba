const ofAll =
  '`isAgentUnchanged` asks the same for every write of an agent: where it is not this condition that notices a change, another one does, or the head of the log';

const ofKey = 'a key is free again a day later, or once its call has ended: then the state is another';
const ofKept = 'whether an approval is kept does not change meanwhile: `approval-cases.test.ts` has requests that may not use one';
const ofRun = 'only the run that has claimed a call ends it, and nobody changes it meanwhile';

const ofOwnToken =
  'the same write renews the token of a person, whose scenario needs it; the token of the gate itself may be obtained twice without harm';

/** Conditions that no scenario needs, by their ids, and why they are there all the same. */
export const spare: Record<string, string> = {
  'AGENT update in a transaction: absent block (beside = generation, = proof)': ofAll,
  'AGENT update in a transaction: = generation (beside = proof, absent block)': ofAll,
  'AGENT update in a transaction: = proof (beside = generation, absent block)': ofAll,
  'AGENT delete in a transaction: = generation (beside absent block, absent proof)': ofAll,
  'AGENT delete in a transaction: absent proof (beside = generation, absent block)': ofAll,
  'AGENT delete in a transaction: absent block (beside = generation, = proof)': ofAll,
  'AGENT delete in a transaction: = generation (beside = proof, absent block)': ofAll,
  'AGENT delete in a transaction: = proof (beside = generation, absent block)': ofAll,
  'AGENT delete in a transaction: absent blocked_key (beside = block)': ofAll,
  'AGENT delete in a transaction: = block (beside = blocked_key)': ofAll,
  'AGENT delete in a transaction: = blocked_key (beside = block)': ofAll,
  'GRANT update: absent lease or = lease or = lease (beside absent rev or = lease)': ofOwnToken,
  'GRANT update: = rev (beside absent lease or = lease or = lease)': ofOwnToken,
  'GRANT update: absent lease or = lease or = lease (beside = rev)': ofOwnToken,
  'AGENTS delete in a transaction: = number':
    'who loses a place in the queue loses the record as well, which is deleted beside it under the same condition',
  'AGENT WAITS put in a transaction: absent pk': 'who asks at the same time takes another number of the queue, which is noticed there',
  'NAMESPACE update in a transaction: absent intents or <= intents': 'is read after the head, which has moved if it has changed',
  'NAMES delete in a transaction: = service_id':
    'a service gets and loses its name by changes of its record, which has its own condition beside it',
  'LIST delete: = rev': 'nobody writes the list of a service that is gone',
  'SERVICE check in a transaction: = rev': 'what an intent was checked against, such as a credential, is what stands when it is written',
  'SERVICE put in a transaction: absent pk': 'the id is new: nobody else can know it',
  'EXECUTION put in a transaction: absent pk': 'the id is new: nobody else can know it',
  'CALL update in a transaction: = execution_id (beside = state, > until)': ofKey,
  'CALL update: = execution_id (beside = state, > until)': ofKey,
  'CALL update in a transaction: > until (beside = execution_id, = state)':
    'who decides has compared the time, which changes only with the state',
  'CALL update: = decision (beside = fingerprint, = may_repeat, > until)': ofKept,
  'CALL update: = fingerprint (beside = decision, = may_repeat, > until)': ofKept,
  'CALL update: > until (beside = decision, = fingerprint, = may_repeat)': ofKept,
  'CALL update: > until (beside = execution_id, = state)':
    'no clock jumps by an hour here; `approval-cases.test.ts` has a worker that begins too late',
  'CALL update: = execution_id (beside = run, = state)': ofRun,
  'CALL update: = state (beside = execution_id, = run)': ofRun,
  'CALL update: = run (beside = execution_id, = state)': ofRun,
  'KEY update in a transaction: exists proof': 'the record of a key may expire meanwhile: the update would leave an empty one',
};
