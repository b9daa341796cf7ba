const ofAll =
  '`asSeen` asks the same for every write of an agent: where it is not this condition that notices a change, another one does, or the head of the log';

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
  'KEY update in a transaction: exists proof': 'the record of a key may expire meanwhile: the update would leave an empty one',
};
