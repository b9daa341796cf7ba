import * as z from 'zod';
import {
  agent,
  agentDomainList,
  agentKeyQuery,
  agentPage,
  agentQuery,
  agentWithUsage,
  approvalInput,
  approvedDomain,
  blockInput,
  clearQuery,
} from '../../schemas/agents/agents.ts';
import type { Declaration } from '../declaration.ts';
import { agentId } from '../endpoints/fixtures.ts';
import { changes } from '../endpoints/needs.ts';

const shown = {
  agent_id: agentId,
  state: 'active',
  key_thumbprint: '--6IM5l0OosLj9yWskISYhUA3n_3CURQkmrYMSha_ck',
  first_seen: '2027-03-01T09:30:00.000Z',
  last_issue: '2027-03-01T09:30:00.000Z',
};

const botExample = { domain: 'bot.example', approved_at: '2027-03-01T09:30:00.000Z' };

export const agents = {
  tags: [{ name: 'Agents', description: 'List, approve, block and revoke agents. For admins.' }],
  endpoints: {
    Agents: {
      'list-agents': {
        method: 'GET',
        path: '/api/agents',
        summary: 'List active, waiting or blocked agents',
        description:
          'Ordered by id, ignoring case. A page may be short or even empty; if there may be more agents, `Link` leads to the next page.',
        credential: 'admin',
        query: agentQuery,
        answer: agentPage,
        headers: ['Link'],
        needs: { table: { agent: ['getAll'], agentList: ['get', 'query'] } },
        example: { query: { page_size: '1' }, answer: { agents: [shown] } },
      },
      'clear-waiting-agents': {
        method: 'DELETE',
        path: '/api/agents',
        summary: 'Clear the queue of agents that wait for approval',
        description: 'Agents that request a PAT again wait again.',
        credential: 'admin',
        query: clearQuery,
        needs: { table: { ...changes, agentList: ['getAll', 'query', 'update'] } },
        example: { query: { state: 'pending' } },
      },
      'get-agent': {
        method: 'GET',
        path: '/api/agents/{agent_id}',
        summary: 'Read an agent: its key, block and use of its limits',
        description:
          'Returns when the agent was first seen, the key to which its id is bound, whether it is blocked, and how much of each limit and budget of the policy its key has used.',
        credential: 'admin',
        errors: ['CONFLICT'],
        query: agentKeyQuery,
        answer: agentWithUsage,
        needs: {
          table: { agent: ['get', 'getAll', 'query'], agentKey: ['query'], agentList: ['get', 'getAll'], limit: ['get'] },
          policy: true,
        },
        example: {
          path: { agent_id: agentId },
          answer: { ...shown, usage: [{ limit: 'execute', rule: '/permission/0/constraint/0', of: 60, used: 1, left: 59, period: 60 }] },
        },
      },
      'revoke-agent': {
        method: 'POST',
        path: '/api/agents/{agent_id}/revoke',
        summary: "Revoke an agent's PATs",
        description: 'PATs issued to the agent so far are no longer accepted. It may get a new one; to bar an agent, block it.',
        credential: 'admin',
        query: agentKeyQuery,
        answer: agent,
        needs: { table: { ...changes, agent: ['getAll', 'update'], agentKey: ['query'], agentList: ['getAll'] } },
        example: { path: { agent_id: agentId }, answer: { ...shown, revoked_at: '2027-03-01T11:00:00.000Z' } },
      },
      'delete-agent': {
        method: 'DELETE',
        path: '/api/agents/{agent_id}',
        summary: 'Free an agent id for another key',
        description:
          'Also revokes its PATs. The next key that presents the `agent_id` owns it. A block of the id or of the previous key remains.',
        credential: 'admin',
        query: agentKeyQuery,
        needs: {
          table: {
            ...changes,
            agent: ['getAll', 'query', 'update', 'delete'],
            agentKey: ['getAll', 'query', 'update', 'delete'],
            agentList: ['get', 'getAll', 'delete'],
          },
        },
        example: { path: { agent_id: agentId } },
      },
      'approve-agent': {
        method: 'POST',
        path: '/api/agents/{agent_id}/approve',
        summary: 'Approve an agent',
        description:
          'Approves the `agent_id` together with a key. Send `key_thumbprint`, in the body or the query, if several keys wait under the `agent_id`, or before its first request.',
        credential: 'admin',
        query: agentKeyQuery,
        body: approvalInput,
        answer: agent,
        needs: {
          table: {
            ...changes,
            agent: ['getAll', 'query', 'update', 'delete', 'check'],
            agentKey: ['getAll', 'query', 'put'],
            agentList: ['get', 'getAll', 'put', 'delete'],
          },
        },
        example: { path: { agent_id: agentId }, body: { key_thumbprint: shown.key_thumbprint }, answer: shown },
      },
      'list-agent-domains': {
        method: 'GET',
        path: '/api/agent-domains',
        summary: 'List the approved domains',
        description: 'Agents that are verified for one of these domains (`agent_directory` of `POST /api/pat/issue`) need no approval.',
        credential: 'admin',
        answer: agentDomainList,
        needs: { table: { agentList: ['query'] } },
        example: { answer: { domains: [botExample] } },
      },
      'approve-agent-domain': {
        method: 'PUT',
        path: '/api/agent-domains/{domain}',
        summary: 'Approve all agents of a domain',
        description:
          'Agents that are verified for the domain get PATs without approval when they send their `agent_directory`. A block of a single agent still applies. Has an effect only if agents need approval.',
        credential: 'admin',
        errors: ['INVALID_PARAMETER'],
        neverErrors: ['NOT_FOUND', 'CONFLICT'],
        answer: approvedDomain,
        needs: { table: { ...changes, agentList: ['getAll', 'put'] } },
        example: { path: { domain: botExample.domain }, answer: botExample },
      },
      'remove-agent-domain': {
        method: 'DELETE',
        path: '/api/agent-domains/{domain}',
        summary: 'Withdraw the approval of a domain',
        description:
          'Agents of the domain that have never had a PAT need approval again. Others keep their PATs until you revoke or block them.',
        credential: 'admin',
        neverErrors: ['CONFLICT'],
        needs: { table: { ...changes, agentList: ['getAll', 'delete'] } },
        example: { path: { domain: botExample.domain } },
      },
      'block-agent': {
        method: 'PUT',
        path: '/api/agents/{agent_id}/block',
        summary: 'Block an agent',
        description:
          'Bars the `agent_id` and its key, also in combination with others: from the next request on, no PAT is issued, or accepted for an execution. The response takes three seconds; after it, no call of the agent is sent or waits. A block does not expire. An `agent_id` can be blocked before its first use.',
        credential: 'admin',
        query: agentKeyQuery,
        body: blockInput,
        answer: agent,
        needs: {
          table: {
            ...changes,
            agent: ['getAll', 'query', 'update', 'delete', 'check'],
            agentKey: ['query', 'put', 'update', 'delete'],
            agentList: ['get', 'getAll', 'put', 'delete'],
            callQueue: ['getAll', 'get', 'put'],
            held: ['getAll', 'get', 'put'],
            execution: ['get'],
            call: ['update'],
          },
        },
        example: {
          path: { agent_id: agentId },
          body: { reason: 'Asks for the same thing a thousand times an hour' },
          answer: {
            ...shown,
            state: 'blocked',
            block: { reason: 'Asks for the same thing a thousand times an hour', blocked_at: '2027-03-01T11:00:00.000Z' },
          },
        },
      },
      'unblock-agent': {
        method: 'DELETE',
        path: '/api/agents/{agent_id}/block',
        summary: 'Lift the block of an agent',
        description: 'Unexpired PATs of the agent are accepted again.',
        credential: 'admin',
        query: agentKeyQuery,
        needs: {
          table: {
            ...changes,
            agent: ['getAll', 'update', 'delete'],
            agentKey: ['getAll', 'query', 'put', 'update', 'delete'],
            agentList: ['getAll', 'put', 'delete'],
          },
        },
        example: { path: { agent_id: agentId } },
      },
    },
  },
  additions: {
    'issue-pat': { description: ' The gate may require approval of agents before their first PAT (403, `approval_pending`).' },
  },
  pathParameters: {
    agent_id: { description: "the agent's id", schema: { type: 'string', minLength: 1, maxLength: 256 } },
    domain: { description: 'the domain of an agent directory, in lower case', schema: { type: 'string', maxLength: 260 } },
  },
  settings: {
    agents: z
      .enum(['open', 'approved'], 'must be open or approved')
      .default('open')
      .describe('`approved`: an admin must approve an agent before its first PAT'),
  },
} as const satisfies Declaration;
