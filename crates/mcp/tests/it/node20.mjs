// The conformance suite imports `globSync`, which node has since version 22 and the suite does not need for clients.
import { register } from 'node:module';

const fs = 'data:text/javascript,export * from "node:fs"; export const globSync = undefined;';
const hooks = `
export const resolve = (specifier, context, next) =>
  specifier === 'fs' && context.parentURL?.includes('/conformance/dist/')
    ? { url: ${JSON.stringify(fs)}, shortCircuit: true }
    : next(specifier, context);
`;
register('data:text/javascript,' + encodeURIComponent(hooks));
