// See kept_expression.h.
#include "pg/kept_expression.h"

#include <cstring>
#include <initializer_list>

#include "pg/compat.h"
#include "pg/error_free.h"
#include "pg/overflow.h"

extern "C" {
#include "access/transam.h"
#include "common/hashfn.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
}

namespace gpujoin {

namespace {

bool is_of_user(Oid object, void*) {
    return object >= FirstNormalObjectId;
}

bool has_type_of_user(Node* node) {
    switch (nodeTag(node)) {
        case T_Var:
        case T_Const:
        case T_FuncExpr:
        case T_OpExpr:
        case T_DistinctExpr:
        case T_NullIfExpr:
        case T_RelabelType:
        case T_CaseExpr:
        case T_CoalesceExpr:
        case T_MinMaxExpr:
            return is_of_user(exprType(node), nullptr);
        default:
            return false;
    }
}

// What is not a plain column, a constant, or made of these by what PostgreSQL has of its own. What a function
// of a user's does may change, and a type of a user's may have such functions.
bool is_foreign_walker(Node* node, void* context) {
    if (!node) return false;
    if (IsA(node, Var)) {
        const auto* var = reinterpret_cast<const Var*>(node);
        if (var->varattno <= 0 || var->varlevelsup > 0) return true;
    }
    if (IsA(node, Param) || IsA(node, PlaceHolderVar) || has_type_of_user(node)) return true;
    if (check_functions_in_node(node, is_of_user, nullptr)) return true;
    return walk_expression(node, is_foreign_walker, context);
}

Node* canonical_mutator(Node* node, void*) {
    if (!node) return nullptr;
    if (!IsA(node, Var)) return mutate_expression(node, canonical_mutator, nullptr);
    const auto* var = reinterpret_cast<const Var*>(node);
    return reinterpret_cast<Node*>(
        makeVar(OUTER_VAR, var->varattno, var->vartype, var->vartypmod, var->varcollid, 0));
}

// Fields of nodes that say where a query has them, or are filled in later on.
bool is_passing(const char* name, size_t length) {
    for (const char* passing : {"location", "opfuncid", "hashfuncid", "negfuncid"})
        if (strlen(passing) == length && strncmp(name, passing, length) == 0) return true;
    return false;
}

}  // namespace

Node* canonical_expression(Node* expression) {
    return canonical_mutator(expression, nullptr);
}

char* text_of_expression(Node* canonical) {
    char* text = nodeToString(canonical);
    char* to = text;
    for (const char* from = text; *from != '\0';) {
        size_t length = *from == ':' ? strcspn(from + 1, " ") : 0;
        if (length > 0 && is_passing(from + 1, length)) {
            from += 1 + length;
            from += strspn(from, " ");
            from += strcspn(from, " })");
            continue;
        }
        *to++ = *from++;
    }
    *to = '\0';
    return text;
}

uint64 hash_of_expression(const ChunkKey& table, Node* canonical) {
    char* text = text_of_expression(canonical);
    uint64 seed = hash_bytes_extended(reinterpret_cast<const unsigned char*>(&table), sizeof table, 0);
    uint64 hash = hash_bytes_extended(reinterpret_cast<const unsigned char*>(text),
                                      static_cast<int>(strlen(text)), seed);
    pfree(text);
    return hash;
}

bool may_keep_expression(Node* expression) {
    return !is_foreign_walker(expression, nullptr) && cannot_fail(expression) && !may_overflow(expression) &&
           !contain_mutable_functions(expression);
}

}  // namespace gpujoin
