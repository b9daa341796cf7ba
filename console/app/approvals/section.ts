import { useEffect } from 'preact/hooks';
import type { ApprovalPage } from '../../../schemas/approvals/approvals.ts';
import { ask, useWhileVisible } from '../gate.ts';
import type { SectionLink } from '../section.ts';
import { session } from '../session.ts';
import { openStore, useStore } from '../store.ts';

/** Interval of counting the waiting calls, in milliseconds. */
const refreshMs = 30_000;

/** How many calls wait for the signed-in admin. */
export const waiting = openStore(0);

function useWaiting(): number {
  const { userName, isAdmin = false, tokens } = useStore(session) ?? {};
  const isAsking = isAdmin && tokens !== undefined;
  const look = () => {
    if (!isAsking) return;
    ask<ApprovalPage>('GET', '/api/approvals', { query: { page_size: '1' }, isAdmin: true }).then(
      ({ value }) => waiting.set(value.waiting),
      () => {},
    );
  };
  useEffect(look, [isAsking, userName]);
  useWhileVisible(look, refreshMs);
  const count = useStore(waiting);
  return isAsking ? count : 0;
}

export const approvals: SectionLink = { path: 'approvals', title: 'Approvals', useWaiting };
