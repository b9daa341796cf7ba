import { servicesQuery, toListedService } from '../schemas/service.ts';
import { foldName } from '../schemas/text.ts';
import { mayChange } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, findAdmin, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { type Look, lookFromEnvironment, privateHeaders, sightWithin } from './core/execution/catalogue.ts';
import { pageLinks } from './core/http/links.ts';
import { revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { listServices, openSeenServices } from './core/registry/lists.ts';
import { policyFromEnvironment } from './core/registry/policy-in-force.ts';
import { wordsOf } from './core/search/text.ts';
import { keys } from './core/table/keys.ts';
import { type Table, tableFromEnvironment } from './core/table/table.ts';

/** `GET /api/services`: ordered by name; admins also see the credential's facts of services that they may change. */
export const createAction = ({ verifyAdmin, table, look }: { verifyAdmin: VerifyAdmin; table: Table; look?: Look | undefined }): Action => {
  const listSeenServices = openSeenServices(table);
  return async (request) => {
    const { name, page, page_size, after } = request.query(servicesQuery);
    const viewer = await look?.(request);
    const [from, matches] = [after ?? (page - 1) * page_size, name === undefined ? undefined : nameMatcher(name)];
    const [{ services, next }, admin] = await Promise.all([
      viewer?.sight
        ? listSeenServices(from, page_size, viewer.sight, (service) => sightWithin(viewer, service) === undefined, matches)
        : listServices(table, from, page_size, matches),
      viewer ? viewer.admin : findAdmin(request, verifyAdmin),
    ]);
    const body = {
      services: services.map((service) => toListedService(service, admin !== undefined && mayChange(admin, service.namespace))),
      pagination: { current_page: page, page_size },
    };
    const pages = { ...body.pagination, total_pages: next === undefined ? page : page + 1 };
    const links = pageLinks(request, pages, next);
    return revalidated(body, undefined, { ...links, ...(viewer || admin ? privateHeaders : { Vary: 'Authorization' }) });
  };
};

/**
 * Matches a name that equals the query, or in which each word of the query is the beginning of a word.
 * @returns a predicate on folded names. The query is folded before it is split, so that "OpenAI" is one word
 */
function nameMatcher(query: string): (name: string) => boolean {
  const wanted = wordsOf(foldName(query));
  const { sk: whole } = keys.serviceName(query);
  return (name) => {
    const words = wordsOf(name);
    return name === whole || (wanted.length > 0 && wanted.every((word) => words.some((found) => found.startsWith(word))));
  };
}

const table = tableFromEnvironment();

export const handler = serve(
  createAction({ verifyAdmin: adminVerifierFromEnvironment(), table, look: lookFromEnvironment(table, policyFromEnvironment(table)) }),
);
